#!/bin/sh
# Installs pelton from an archive of a release, without root: into ~/.local unless --prefix says otherwise.
set -eu
# Others may run what root installs.
umask 022

usage() {
    cat <<'END'
Usage: sh install.sh [--prefix DIR] [--from DIR|URL] [--uninstall]

  --prefix DIR   where to install: DIR/bin, DIR/share (default: ~/.local)
  --from         the directory or the address with pelton's archives and their
                 SHA256SUMS (default: the directory of this script)
  --uninstall    removes what was installed there

The archive's checksum is verified before anything is unpacked.
END
}

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

needs_value() {
    [ "$1" -gt 1 ] || fail "$2 needs a value; sh install.sh --help tells more"
}

prefix=${HOME:-}/.local
from=$(dirname "$0")
action=install
while [ $# -gt 0 ]; do
    case $1 in
    --prefix) needs_value $# "$1"; prefix=$2; shift ;;
    --from) needs_value $# "$1"; from=$2; shift ;;
    --uninstall) action=uninstall ;;
    -h | --help) usage; exit 0 ;;
    *) fail "there is no option $1; sh install.sh --help tells more" ;;
    esac
    shift
done
case $prefix in
'') fail "--prefix is empty" ;;
/.local) fail "HOME is not set: say where with --prefix" ;;
/*) ;;
*) prefix=$(pwd)/$prefix ;;
esac
# The names of all files that were installed, from the prefix on.
list=share/pelton/installed-files

if [ $action = uninstall ]; then
    [ -f "$prefix/$list" ] || fail "pelton is not installed in $prefix: there is no $prefix/$list"
    files=$(cat "$prefix/$list")
    for file in $files; do
        rm -f "$prefix/$file"
        dir=$(dirname "$file")
        while [ "$dir" != . ] && rmdir "$prefix/$dir" 2>/dev/null; do
            dir=$(dirname "$dir")
        done
    done
    rmdir "$prefix" 2>/dev/null || true
    echo "removed pelton from $prefix"
    exit 0
fi

[ "$(uname -s)" = Linux ] || fail "pelton is for Linux (on Windows: in WSL; on macOS: in a container of Linux)"
machine=$(uname -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# Copies a file of the release into $work.
get() {
    case $from in
    http://* | https://*)
        if command -v curl >/dev/null; then
            curl -fsSL -o "$work/$1" "$from/$1" || fail "cannot load $from/$1"
        elif command -v wget >/dev/null; then
            wget -q -O "$work/$1" "$from/$1" || fail "cannot load $from/$1"
        else
            fail "neither curl nor wget is installed: load the release by hand, and say where with --from"
        fi
        ;;
    *) cp "$from/$1" "$work/$1" 2>/dev/null || fail "there is no $1 in $from: say where with --from" ;;
    esac
}

get SHA256SUMS
archive=$(sed -n "s/^[0-9a-f]*  \(pelton-.*-linux-$machine\.tar\.gz\)\$/\1/p" "$work/SHA256SUMS")
[ -n "$archive" ] || fail "this release has no archive for the processor $machine"
get "$archive"
sum=$(sha256sum <"$work/$archive")
grep -q "^${sum%% *}  $archive\$" "$work/SHA256SUMS" ||
    fail "the checksum of $archive is wrong: it is damaged, or not what was released; nothing was installed"
gzip -dc "$work/$archive" | tar -x -f - -C "$work"
tree=$work/${archive%.tar.gz}
"$tree/bin/pelton" --version >/dev/null || fail "pelton does not start on this machine; nothing was installed"

# The binary comes last, under another name first: a running pelton is not disturbed, and no half of one is left.
(cd "$tree" && find . -type f ! -path ./bin/pelton) | sed 's|^\./||' | sort >"$work/files"
while IFS= read -r file; do
    mkdir -p "$prefix/$(dirname "$file")" || fail "cannot write into $prefix: say where with --prefix"
    cp "$tree/$file" "$prefix/$file"
done <"$work/files"
mkdir -p "$prefix/bin" "$prefix/$(dirname $list)"
cp "$tree/bin/pelton" "$prefix/bin/.pelton-new"
mv -f "$prefix/bin/.pelton-new" "$prefix/bin/pelton"
{
    echo bin/pelton
    cat "$work/files"
    echo $list
} >"$work/installed"
# What an earlier version had, and this one has not.
if [ -f "$prefix/$list" ]; then
    for file in $(cat "$prefix/$list"); do
        grep -qxF "$file" "$work/installed" || rm -f "$prefix/$file"
    done
fi
cp "$work/installed" "$prefix/$list"

echo "installed $("$prefix/bin/pelton" --version) in $prefix"
case :${PATH:-}: in
*:"$prefix/bin":*) echo "begin with: pelton" ;;
*)
    shell=${SHELL:-}
    case ${shell##*/} in
    fish) line="fish_add_path '$prefix/bin'" ;;
    zsh) line="echo 'export PATH=\"$prefix/bin:\$PATH\"' >> ~/.zshrc" ;;
    *) line="echo 'export PATH=\"$prefix/bin:\$PATH\"' >> ~/.bashrc" ;;
    esac
    echo "$prefix/bin is not in your PATH yet; type this, and open a new shell:"
    echo "  $line"
    echo "then begin with: pelton"
    ;;
esac
echo "the book is in $prefix/share/doc/pelton"
