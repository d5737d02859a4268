from dractl.model.nearest import nearest, nearest_names


def test_case_and_a_letter_do_not_hide_a_name() -> None:
    assert nearest("devicesclassname", ["count", "deviceClassName"]) == "deviceClassName"


def test_a_name_unlike_all_has_no_nearest() -> None:
    assert nearest("priority", ["count", "deviceClassName"]) is None


def test_the_nearest_comes_first() -> None:
    assert nearest_names("gpu-1", ["gpu-22", "gpu-2", "nic"]) == ["gpu-2", "gpu-22"]


def test_how_alike_is_for_the_caller_to_say() -> None:
    assert nearest("gpu.example.com", ["gpu.nvidia.com"]) is None
    assert nearest("gpu.example.com", ["gpu.nvidia.com"], alike=0.5) == "gpu.nvidia.com"


def test_a_whole_file_as_a_name_is_compared_by_its_beginning() -> None:
    assert nearest("count" * 1_000_000, ["count" * 1_000_000]) == "count" * 1_000_000


def test_two_exchanged_letters_are_one_slip_in_a_short_name_too() -> None:
    assert nearest("shraed", ["shared", "spread"], alike=0.85) == "shared"
    assert nearest("gpu01", ["gpu10"], alike=0.85) is None  # numbers name different things
    assert nearest("abc", ["bac"], alike=0.85) is None
