"""What pyproject.toml cannot say: packages that lie beside morph, and a README that is read elsewhere."""

from __future__ import annotations

import pathlib
import re
import runpy

from setuptools import Distribution, find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

BESIDE = {"morph.aliases": "aliases", "morph.finders": "finders"}
TREES = "aliases.packages*"  # of served packages, which are executed under their public names
LINK = re.compile(r"(?<!!)(\[[^\]\[]+\]\()(?!\w+:)([^)\s]+\))")


class Project(Distribution):
    """The distribution with a README whose links lead to the repository."""

    def parse_config_files(self, *arguments: object, **options: object) -> None:
        """Read pyproject.toml, which says where the repository is, and change the links."""
        super().parse_config_files(*arguments, **options)
        about = self.metadata
        page = f"{about.project_urls['Repository']}/blob/v{about.version}/"
        text = about.long_description
        about.long_description = LINK.sub(lambda link: link[1] + target(page, link[2]), text)


class Build(build_py):
    """The build of the Python files, which writes the type stubs of served packages."""

    def run(self) -> None:
        """Copy the files, and write the stubs unless the package stays where it is."""
        super().run()
        if not self.editable_mode:
            write = runpy.run_path("aliases/stubs.py")["write"]
            write(pathlib.Path("aliases"), pathlib.Path(self.build_lib, "morph", "aliases"))


class Editable(editable_wheel):
    """An editable installation that is an entry of sys.path, which no folder called morph hides."""

    def finalize_options(self) -> None:
        """Leave out the packages beside morph, which it finds itself."""
        self.distribution.packages = find_packages(include=["morph", "morph.*"])
        self.distribution.package_dir = {"": "."}
        super().finalize_options()


def target(page: str, link: str) -> str:
    """Return where a relative link of the README leads below the page of the repository."""
    return f"{page}README.md{link}" if link.startswith("#") else f"{page}{link}"


def packages() -> list[str]:
    """Return the packages of morph by their installed names."""
    inside = find_packages(include=["morph", "morph.*"])
    beside = find_packages(include=[f"{name}*" for name in BESIDE.values()], exclude=[TREES])
    return [*inside, *(f"morph.{name}" for name in beside)]


setup(
    distclass=Project,
    cmdclass={"build_py": Build, "editable_wheel": Editable},
    packages=packages(),
    package_dir={"": ".", **BESIDE},
    long_description=pathlib.Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
)
