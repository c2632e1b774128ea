"""Builds the wheel: the package, and the static `pelton` binary as its script (PEP 517 and 660).

A backend of its own needs no other package, so that `pip install ./python` works without a network.
It also states what is true of this binary and no other backend would say of a file that it only
packs: it is static, so it runs with any C library. One wheel for each kind of processor carries the
tags of manylinux and of musllinux, and, without an extension module, serves every Python 3,
free-threaded builds included.

`PELTON_WHEEL_BINARY` names a binary that is there already; else `cargo xtask build` builds it.
`PELTON_WHEEL_MACHINE` (x86_64 or aarch64) says for which machine that is.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import platform
import re
import struct
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
WORKSPACE = HERE.parent
NAME = "pelton"
LICENCES = ("LICENSE-MIT", "LICENSE-APACHE")
# What `e_machine` of an ELF file says.
ELF_MACHINES = {62: "x86_64", 183: "aarch64"}


class BuildError(Exception):
    """Says why there is no wheel."""


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return []


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    return []


def get_requires_for_build_sdist(config_settings: Any = None) -> list[str]:
    return []


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    """Writes the wheel, and returns its name."""
    files = {f"{NAME}/{path}": data for path, data in _package().items()}
    return _write_wheel(wheel_directory, files)


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    """Writes a wheel that points to the sources here, and returns its name."""
    return _write_wheel(wheel_directory, {f"_{NAME}.pth": f"{HERE / 'src'}\n".encode()})


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Any = None) -> str:
    """Writes the metadata alone, without building the program, and returns their directory's name."""
    version = _version()
    name = f"{NAME}-{version}.dist-info"
    directory = Path(metadata_directory, name)
    for path, data in _information(version).items():
        place = directory / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    return name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """Writes the sources of the package alone, and returns the archive's name.

    Where no wheel fits, installing them tells why (see `_binary`).
    """
    version = _version()
    base = f"{NAME}-{version}"
    files = {f"src/{NAME}/{path}": data for path, data in _package().items()}
    for name in ("pyproject.toml", "build_backend.py", "README.md"):
        files[name] = (HERE / name).read_bytes()
    for name, data in _licences().items():
        files[name] = data
    files["VERSION"] = f"{version}\n".encode()
    files["PKG-INFO"] = _metadata(version)
    archive = f"{base}.tar.gz"
    import gzip

    with open(os.path.join(sdist_directory, archive), "wb") as raw:
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=_time()) as packed:
            with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
                for name in sorted(files):
                    member = tarfile.TarInfo(f"{base}/{name}")
                    member.size = len(files[name])
                    member.mtime = _time()
                    member.mode = 0o644
                    tar.addfile(member, io.BytesIO(files[name]))
    return archive


def _package() -> dict[str, bytes]:
    source = HERE / "src" / NAME
    found = [*source.rglob("*.py"), *source.rglob("py.typed")]
    return {path.relative_to(source).as_posix(): path.read_bytes() for path in sorted(found)}


def _licences() -> dict[str, bytes]:
    found = [(name, directory / name) for name in LICENCES for directory in (WORKSPACE, HERE)]
    return {name: path.read_bytes() for name, path in reversed(found) if path.is_file()}


def _version() -> str:
    """Returns the version of the workspace; in a source archive, the one that it was made of."""
    manifest = WORKSPACE / "Cargo.toml"
    if (HERE / "VERSION").is_file():
        return (HERE / "VERSION").read_text(encoding="utf-8").strip()
    found = re.search(
        r'^\[workspace\.package\][^\[]*?^version = "([^"]+)"', manifest.read_text(encoding="utf-8"), re.M | re.S
    )
    if found is None:
        raise BuildError(f"cannot build the wheel: {manifest} names no version of the workspace")
    return found[1]


def _time() -> int:
    """Returns the time of all files, in seconds since 1970: the same sources give the same archive."""
    # Not before 1980, which zip cannot say.
    return max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800)


def _binary() -> tuple[Path, str]:
    """Returns the binary, and the machine that it is for.

    Raises:
        BuildError: If there is none, and it cannot be built here.
    """
    named = os.environ.get("PELTON_WHEEL_BINARY")
    if named:
        path = Path(named)
    elif not sys.platform.startswith("linux"):
        raise BuildError(
            f"cannot install pelton: it is for Linux, and this system is {sys.platform}; "
            "use WSL on Windows, or a Linux container on macOS"
        )
    elif not (WORKSPACE / "xtask").is_dir():
        raise BuildError(
            f"cannot install pelton: there is no wheel for this machine ({platform.machine()}; there are "
            "some for x86_64 and aarch64), and these sources are without those of the program; "
            "with Rust, try `pip install ./python` in a checkout of the repository"
        )
    else:
        path = _built()
    header = path.read_bytes()[:20]
    machine = ELF_MACHINES.get(struct.unpack("<H", header[18:20])[0]) if header[:4] == b"\x7fELF" else None
    wanted = os.environ.get("PELTON_WHEEL_MACHINE")
    if machine is None or (wanted and wanted != machine):
        raise BuildError(f"cannot pack {path}: it is no program for {wanted or 'x86_64 or aarch64'}")
    return path, machine


def _built() -> Path:
    try:
        built = subprocess.run(
            ["cargo", "xtask", "build"], cwd=WORKSPACE, stdout=subprocess.PIPE, check=True, encoding="utf-8"
        )
    except FileNotFoundError:
        raise BuildError(
            "cannot build pelton: there is no cargo in PATH; install Rust, "
            "or set PELTON_WHEEL_BINARY to a static binary"
        ) from None
    except subprocess.CalledProcessError as error:
        raise BuildError(f"cannot build pelton: `cargo xtask build` ended with {error.returncode}") from None
    return Path(built.stdout.strip().splitlines()[-1])


def _is_static(path: Path) -> bool:
    """Returns whether an ELF file asks for no interpreter, so that it needs no C library beside it."""
    data = path.read_bytes()
    offset = struct.unpack("<Q", data[32:40])[0]
    size, count = struct.unpack("<HH", data[54:58])
    kinds = [struct.unpack("<I", data[offset + i * size :][:4])[0] for i in range(count)]
    return 3 not in kinds  # PT_INTERP


def _tags(path: Path, machine: str) -> list[str]:
    if _is_static(path):
        return [f"manylinux_2_17_{machine}", f"manylinux2014_{machine}", f"musllinux_1_1_{machine}"]
    # Runs here, and nobody knows where else.
    return [f"linux_{machine}"]


def _extras(text: str) -> "list[str]":
    """Returns the fields of the optional dependencies."""
    lines = []
    for body in re.findall(r"^\[project\.optional-dependencies\]\n(.*?)\n\n", text, re.M | re.S):
        for name, listed in re.findall(r"^(\w+) = \[(.*)\]$", body, re.M):
            lines.append(f"Provides-Extra: {name}")
            lines += [f"Requires-Dist: {one}; extra == '{name}'" for one in re.findall(r'"([^"]+)"', listed)]
    return lines


def _metadata(version: str) -> bytes:
    """Returns the fields of pyproject.toml, in the form that wheels have. A test compares them."""
    text = (HERE / "pyproject.toml").read_text(encoding="utf-8")

    def field(name: str) -> str:
        found = re.search(rf'^{name} = "(.*)"$', text, re.M)
        assert found, name
        return found[1]

    def entries(name: str) -> list[str]:
        found = re.search(rf"^{name} = \[(.*?)\]$", text, re.M | re.S)
        assert found, name
        return re.findall(r'"([^"]*)"', found[1])

    lines = [
        "Metadata-Version: 2.4",
        f"Name: {NAME}",
        f"Version: {version}",
        f"Summary: {field('description')}",
        f"Keywords: {','.join(entries('keywords'))}",
        f"License-Expression: {field('license')}",
        *[f"License-File: {name}" for name in LICENCES],
        *[f"Classifier: {entry}" for entry in entries("classifiers")],
        f"Requires-Python: {field('requires-python')}",
        *_extras(text),
        "Description-Content-Type: text/markdown",
        "",
        (HERE / "README.md").read_text(encoding="utf-8"),
    ]
    return "\n".join(lines).encode()


def _entry_points() -> bytes:
    text = (HERE / "pyproject.toml").read_text(encoding="utf-8")
    lines: list[str] = []
    for group, body in re.findall(r"^\[project\.entry-points\.(\w+)\]\n(.*?)\n\n", text, re.M | re.S):
        lines.append(f"[{group}]")
        for name, target in re.findall(r'^(\w+) = "([^"]+)"$', body, re.M):
            # Without its module, pytest would not start.
            module = HERE / "src" / (target.split(":")[0].replace(".", "/") + ".py")
            if module.is_file():
                lines.append(f"{name} = {target}")
    return ("\n".join(lines) + "\n").encode()


def _information(version: str) -> dict[str, bytes]:
    return {
        "METADATA": _metadata(version),
        "entry_points.txt": _entry_points(),
        **{f"licenses/{name}": data for name, data in _licences().items()},
    }


def _write_wheel(directory: str, files: dict[str, bytes]) -> str:
    version = _version()
    binary, machine = _binary()
    tags = _tags(binary, machine)
    information = f"{NAME}-{version}.dist-info"
    wheel = ["Wheel-Version: 1.0", "Generator: pelton", "Root-Is-Purelib: false"]
    wheel += [f"Tag: py3-none-{tag}" for tag in tags]
    script = f"{NAME}-{version}.data/scripts/{NAME}"
    files = {
        **files,
        script: binary.read_bytes(),
        **{f"{information}/{path}": data for path, data in _information(version).items()},
        f"{information}/WHEEL": ("\n".join(wheel) + "\n").encode(),
    }
    record = io.StringIO()
    writer = csv.writer(record, lineterminator="\n")
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        writer.writerow((path, f"sha256={digest}", len(data)))
    writer.writerow((f"{information}/RECORD", "", ""))
    files[f"{information}/RECORD"] = record.getvalue().encode()
    name = f"{NAME}-{version}-py3-none-{'.'.join(tags)}.whl"
    import time

    date = time.gmtime(_time())[:6]
    with zipfile.ZipFile(os.path.join(directory, name), "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if path == script else 0o100644) << 16
            entry.create_system = 3
            archive.writestr(entry, data)
    return name
