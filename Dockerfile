# Debian, not Alpine: cel-expr-python has wheels for glibc only, and lint would not check selectors without it.
FROM python:3.13-slim-trixie AS build
COPY . /src
RUN python -m venv /opt/dractl && /opt/dractl/bin/pip install --no-cache-dir /src

FROM python:3.13-slim-trixie
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libudev1 pci.ids \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/dractl /opt/dractl
ENV PATH=/opt/dractl/bin:$PATH
USER 65532:65532
ENTRYPOINT ["dractl"]
