"""What the vendor's libraries require of CANN, read from their ELF files with binutils."""

import pathlib
import re
import subprocess
from collections.abc import Iterable


def output(*command: object) -> str:
    """Runs a command and returns its standard output.

    Raises:
        subprocess.CalledProcessError: If it fails; its `stderr` says why.
    """
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def undefined(library: pathlib.Path) -> set[str]:
    """Returns a library's undefined symbols, without weak ones, which may stay unresolved."""
    rows = (line.split() for line in output("nm", "-D", "--undefined-only", library).splitlines())
    return {_unversioned(row[-1]) for row in rows if row[0] == "U"}


def defined(library: pathlib.Path) -> set[str]:
    """Returns the symbols that a library exports."""
    rows = output("nm", "-D", "--defined-only", library).splitlines()
    return {_unversioned(row.split()[-1]) for row in rows}


def defined_in_object(file: pathlib.Path) -> set[str]:
    """Returns the external names of an object file."""
    return {line.split()[-1] for line in output("nm", "-g", "--defined-only", file).splitlines()}


def needed(library: pathlib.Path) -> set[str]:
    """Returns the names (SONAMEs) of the libraries that a library is linked to."""
    return set(re.findall(r"\(NEEDED\).*\[(.*?)\]", output("readelf", "-dW", library)))


def declared_with_status(headers: Iterable[pathlib.Path]) -> set[str]:
    """Returns the functions that the headers declare to return a status: their stubs can report an error."""
    declaration = re.compile(r"\b(?:aclError|HcclResult|aclnnStatus)\s+(\w+)\s*\(")
    return {name for header in headers for name in declaration.findall(header.read_text(errors="replace"))}


def stub_source(names: Iterable[str], with_status: set[str]) -> str:
    """Returns C source that defines every name as a function that reports itself as missing.

    Args:
        names: Linker names, C++ ones included.
        with_status: Those among them that return a status; they return "not supported", the others zero.
    """
    lines = ["extern int soft_cann_missing(const char *);"]
    for number, name in enumerate(sorted(names)):
        call = f'soft_cann_missing("{name}")'
        body = f"return {call};" if name in with_status else f"{call}; return 0;"
        lines += [f'long stub{number}(void) __asm__("{name}");', f"long stub{number}(void) {{ {body} }}"]
    return "\n".join(lines) + "\n"


def _unversioned(name: str) -> str:
    return name.partition("@")[0]
