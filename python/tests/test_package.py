"""The wheel, finding the program, and importing."""

from __future__ import annotations

import email
import os
import struct
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

import pelton
from pelton import _binary

PACKAGE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PACKAGE))
import build_backend  # noqa: E402


def elf(path: Path, machine: int, is_static: bool) -> Path:
    """Writes the smallest file that the backend takes for a program."""
    header = struct.pack("<4s12xHHIQQQIHHHHHH", b"\x7fELF", 2, machine, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    path.write_bytes(header + struct.pack("<I52x", 1 if is_static else 3))
    return path


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> zipfile.ZipFile:
    monkeypatch.setenv("PELTON_WHEEL_BINARY", str(elf(tmp_path / "pelton", 62, True)))
    return zipfile.ZipFile(tmp_path / build_backend.build_wheel(str(tmp_path)))


def test_names_of_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = pelton.__version__
    for machine, number in (("x86_64", 62), ("aarch64", 183)):
        monkeypatch.setenv("PELTON_WHEEL_BINARY", str(elf(tmp_path / machine, number, True)))
        tags = f"manylinux_2_17_{machine}.manylinux2014_{machine}.musllinux_1_1_{machine}"
        assert build_backend.build_wheel(str(tmp_path)) == f"pelton-{version}-py3-none-{tags}.whl"
    monkeypatch.setenv("PELTON_WHEEL_BINARY", str(elf(tmp_path / "dynamic", 62, False)))
    assert build_backend.build_wheel(str(tmp_path)) == f"pelton-{version}-py3-none-linux_x86_64.whl"
    monkeypatch.setenv("PELTON_WHEEL_MACHINE", "aarch64")
    with pytest.raises(build_backend.BuildError, match="no program for aarch64"):
        build_backend.build_wheel(str(tmp_path))


def test_content_of_the_wheel(wheel: zipfile.ZipFile) -> None:
    with wheel:
        names = set(wheel.namelist())
        version = pelton.__version__
        information = f"pelton-{version}.dist-info"
        source = {path.name for path in (PACKAGE / "src/pelton").glob("*.py")}
        assert {f"pelton/{name}" for name in source | {"py.typed"}} <= names
        assert f"{information}/licenses/LICENSE-MIT" in names
        script = wheel.getinfo(f"pelton-{version}.data/scripts/pelton")
        assert script.external_attr >> 16 == 0o100755
        metadata = email.message_from_bytes(wheel.read(f"{information}/METADATA"))
        assert metadata["Name"] == "pelton"
        required = metadata.get_all("Requires-Dist") or []
        assert all("extra == 'dask'" in one for one in required), "nothing is needed otherwise"
        recorded = {line.split(",")[0] for line in wheel.read(f"{information}/RECORD").decode().splitlines()}
        assert recorded == names


def test_metadata_are_those_of_pyproject(wheel: zipfile.ZipFile) -> None:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 and older have no tomllib")
    project: dict[str, Any] = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    with wheel:
        information = f"pelton-{pelton.__version__}.dist-info"
        metadata = email.message_from_bytes(wheel.read(f"{information}/METADATA"))
        entry_points = wheel.read(f"{information}/entry_points.txt").decode()
    assert metadata["Summary"] == project["description"]
    assert metadata["Requires-Python"] == project["requires-python"]
    assert metadata["License-Expression"] == project["license"]
    assert metadata.get_all("Classifier") == project["classifiers"]
    assert metadata["Keywords"].split(",") == project["keywords"]
    for group, names in project["entry-points"].items():
        for name, target in names.items():
            assert f"[{group}]\n{name} = {target}\n" in entry_points


def test_the_same_sources_give_the_same_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PELTON_WHEEL_BINARY", str(elf(tmp_path / "pelton", 62, True)))
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        made.append((tmp_path / name / build_backend.build_wheel(str(tmp_path / name))).read_bytes())
    assert made[0] == made[1]


def test_sources_without_the_program_say_so(tmp_path: Path) -> None:
    name = build_backend.build_sdist(str(tmp_path))
    with tarfile.open(tmp_path / name) as archive:
        if sys.version_info >= (3, 12):
            archive.extractall(tmp_path, filter="data")
        else:
            archive.extractall(tmp_path)
    place = tmp_path / name.replace(".tar.gz", "")
    program = "import build_backend, sys; build_backend.build_wheel('.')"
    env = {name: value for name, value in os.environ.items() if not name.startswith("PELTON_")}
    done = subprocess.run([sys.executable, "-c", program], cwd=place, env=env, stderr=subprocess.PIPE, check=False)
    assert b"cannot install pelton: there is no wheel for this machine" in done.stderr


def test_one_version() -> None:
    assert pelton.__version__ == build_backend._version()
    printed = subprocess.run([pelton.binary_path(), "--version"], stdout=subprocess.PIPE, check=True).stdout
    assert printed.decode() == f"pelton {pelton.__version__}\n"


def test_a_program_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PELTON_BINARY", "/bin/true")
    assert pelton.binary_path() == "/bin/true"
    monkeypatch.setenv("PELTON_BINARY", "/nowhere/pelton")
    with pytest.raises(pelton.PeltonNotFound, match="PELTON_BINARY is '/nowhere/pelton'"):
        pelton.run("true")


def test_no_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PELTON_BINARY", raising=False)
    monkeypatch.setattr(_binary, "_found", None)
    monkeypatch.setattr(_binary, "_directories", lambda: [str(tmp_path)])
    with pytest.raises(pelton.PeltonNotFound, match=r"looked at .*try `pip install"):
        pelton.binary_path()


def test_another_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PELTON_BINARY", raising=False)
    monkeypatch.setattr(_binary, "_found", None)
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(pelton.UnsupportedPlatform, match="it is for Linux, and this system is darwin"):
        pelton.binary_path()


def test_python_dash_m() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pelton", "run", "echo a; exit 3"], stdout=subprocess.PIPE, check=False
    )
    assert (done.returncode, done.stdout) == (3, b"a\n")


def test_importing_imports_little() -> None:
    program = (
        "import sys; before = set(sys.modules); import pelton; "
        "print([m for m in ('subprocess', 'dataclasses', 'json', 'threading') if m in set(sys.modules) - before])"
    )
    # Without site, which may import anything.
    path = str(Path(pelton.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {path!r}); {program}"],
        stdout=subprocess.PIPE,
        check=True,
    )
    assert done.stdout == b"[]\n"


def test_every_public_name() -> None:
    for name in pelton.__all__:
        value = getattr(pelton, name)
        assert value is not None or name in ("PIPE",)
    assert set(pelton.__all__) <= set(dir(pelton))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        pelton.nonsense  # type: ignore[attr-defined]  # noqa: B018
