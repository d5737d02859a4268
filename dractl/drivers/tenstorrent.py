"""``tenstorrent.com``: Tenstorrent chips, as the fabric manager's agent lists them.

Source: tenstorrent/tt-dra-driver@1b6fe48 internal/profiles/tenstorrent/tenstorrent.go.
"""

from dractl.drivers.agent import Agent

NAME = "tenstorrent.com"


PROFILE = Agent(NAME)
