#!/usr/bin/env bash
# Downloads an archive with looptape, verifies its checksum, and adds the command to PATH. Nothing of an archive
# with another checksum is unpacked or run.
# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

releases=https://github.com/looptape/looptape/releases/download
download=$(mktemp -d "${RUNNER_TEMP:-/tmp}/looptape.XXXXXX")

# fetch URL FILE downloads a file. Only https may follow https.
fetch() {
    local protocols='=https'
    [[ $1 == https://* ]] || protocols='=http'
    curl --silent --show-error --fail --location --globoff --proto "$protocols" --proto-redir "$protocols" --max-filesize 209715200 \
        --connect-timeout 20 --max-time 600 --retry "${LOOPTAPE_RETRIES:-3}" --output "$2" --url "$1" 2>"$download/error" ||
        fail "cannot download $1: $(tail -n 1 "$download/error")"
}

checksum() {
    if command -v sha256sum >/dev/null; then
        sha256sum <"$1"
    else
        shasum -a 256 <"$1"
    fi | cut -d ' ' -f 1
}

# need_platform sets os and arch to the words of Go for this machine.
need_platform() {
    case ${RUNNER_OS:-} in
    Linux) os=linux ;;
    macOS) os=darwin ;;
    Windows) os=windows ;;
    *) fail "there is no release for the operating system \"${RUNNER_OS:-}\": set url and sha256" ;;
    esac
    case ${RUNNER_ARCH:-} in
    X64) arch=amd64 ;;
    ARM64) arch=arm64 ;;
    *) fail "there is no release for the architecture \"${RUNNER_ARCH:-}\": set url and sha256" ;;
    esac
}

url=$INPUT_URL
want=$(printf '%s' "$INPUT_SHA256" | tr 'A-F' 'a-f')
[[ -z $want || $want =~ ^[0-9a-f]{64}$ ]] || fail "sha256 \"$INPUT_SHA256\": want 64 hexadecimal digits"
if [[ -n $url ]]; then
    [[ -n $want ]] || fail "the input url needs the input sha256"
    [[ -z $INPUT_VERSION ]] || fail "the inputs url and version exclude each other: remove one of them"
else
    version=$INPUT_VERSION
    [[ -n $version ]] || version=$INPUT_REF
    [[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[a-z]+\.[0-9]+)?$ ]] || fail "version \"$version\": set the input version to a release, such as v1.2.3"
    need_platform
    name=looptape_${version#v}_${os}_$arch
    case $os in
    windows) name+=.zip ;;
    *) name+=.tar.gz ;;
    esac
    releases=${LOOPTAPE_RELEASES:-$releases}
    need_url "$releases" LOOPTAPE_RELEASES
    url=$releases/$version/$name
    if [[ -z $want ]]; then
        fetch "$releases/$version/SHA256SUMS" "$download/SHA256SUMS"
        want=$(awk -v name="$name" '$2 == name && length($1) == 64 { print $1 }' "$download/SHA256SUMS")
        [[ $want =~ ^[0-9a-f]{64}$ ]] || fail "$releases/$version/SHA256SUMS has no checksum of $name"
    fi
fi
need_url "$url" url

archive=$download/archive
fetch "$url" "$archive"
got=$(checksum "$archive")
[[ $got == "$want" ]] || fail "$url has the SHA-256 checksum $got, want $want: nothing of it was run"

# Only one regular file is taken from the archive, by its name, and through a pipe: no path and no link of the
# archive has an effect.
tar=tar
binary=looptape
if [[ ${RUNNER_OS:-} == Windows ]]; then
    tar=$SYSTEMROOT/System32/tar.exe # which also reads .zip
    binary=looptape.exe
fi
"$tar" -tf "$archive" >"$download/list" || fail "$url is not an archive that tar can read"
grep -E "^(\./)?([^/]+/)?${binary/./\\.}\$" "$download/list" >"$download/members" || fail "$url contains no $binary"
[[ $(wc -l <"$download/members") -eq 1 ]] || fail "$url contains several files with the name $binary"
mkdir "$download/bin"
"$tar" -xOf "$archive" -- "$(cat "$download/members")" >"$download/bin/$binary"
[[ -s $download/bin/$binary ]] || fail "$url: $binary is empty or a link"
chmod 755 "$download/bin/$binary"
rm -f "$archive"
installed=$("$download/bin/$binary" --version) || fail "$url: $binary does not run on this machine"
printf '%s\n' "$download/bin" >>"$GITHUB_PATH"
output version "$installed"
printf '%s\nchecksum %s\n' "$(one_line "$installed")" "$got"
