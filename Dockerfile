# lint renders charts with helm and kustomizations with kustomize; kubectl reads a cluster.
FROM registry.k8s.io/kubectl:v1.37.1 AS kubectl

FROM registry.k8s.io/kustomize/kustomize:v5.8.1 AS kustomize

# Debian, not Alpine: cel-expr-python has wheels for glibc only, and lint would not check selectors
# without it.
FROM python:3.13-slim-trixie AS build
COPY . /src
RUN python -m venv /opt/dractl && /opt/dractl/bin/pip install --no-cache-dir /src
RUN python /src/tools/fetch_helm.py /usr/local/bin/helm

FROM python:3.13-slim-trixie
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libudev1 pci.ids \
 && rm -rf /var/lib/apt/lists/*
COPY --from=kubectl /bin/kubectl /usr/local/bin/
COPY --from=kustomize /app/kustomize /usr/local/bin/
COPY --from=build /usr/local/bin/helm /usr/local/bin/
COPY --from=build /opt/dractl /opt/dractl
ENV PATH=/opt/dractl/bin:$PATH
USER 65532:65532
# No ENTRYPOINT: GitLab and other runners start a shell in the image.
CMD ["dractl"]
