#!/usr/bin/env bash
# try_image.sh [ROOT.tar]: build the image of the Containerfile with buildah and run embers in it.
#
# Without a registry, ROOT.tar is a file system to build on, for example
#   mmdebstrap --variant=minbase --include=ca-certificates,python3-venv,python-is-python3 bookworm ROOT.tar
# BUILD_OPTIONS: further options of `buildah build`, for example --volume for certificates. Images are kept in a temporary folder.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v buildah >/dev/null; then
  echo "buildah is not installed: the image is not built"
  [ -z "${CI:-}" ] || exit 1
  exit 0
fi
store=$(mktemp -d)
trap 'buildah rm --all >/dev/null 2>&1 || true; rm -rf "$store"' EXIT
buildah() { command buildah --root "$store/root" --runroot "$store/run" --storage-driver vfs "$@"; }

options=()
if [ $# -gt 0 ]; then
  base=$(buildah from scratch)
  buildah add -q "$base" "$1" / >/dev/null
  buildah commit -q "$base" embers-base >/dev/null
  options=(--build-arg BASE=localhost/embers-base)
fi
# shellcheck disable=SC2086
buildah build --quiet --isolation chroot "${options[@]}" ${BUILD_OPTIONS:-} --file Containerfile --tag embers . >/dev/null
made=$(buildah from embers)
root=$(buildah mount "$made")
echo "size of the file system: $(du -sm "$root" | cut -f1) MiB, of embers in it: $(du -sm "$root/opt/embers" | cut -f1) MiB"
try() { echo "\$ $*"; buildah run --isolation chroot "$made" -- "$@"; }
try embers --version
try embers mine --source catalog
try embers show 84577 | sed -n 2p
try embers search "strided input" -k 1 # by words: the model is not in the image
# the sandbox makes namespaces, which a container forbids without further rights: what is missing is printed; bubblewrap is not in the image
try embers doctor || echo "doctor: exit code $?"
