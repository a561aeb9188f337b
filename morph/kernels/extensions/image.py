"""The image of a compiled module: what programs get as PTX or as a cubin.

It is a text of ours with the shared object in it. Its head names the toolkit that it is for, so that what
programs keep of it is compiled anew after an upgrade.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping

from morph.base.errors import MorphError

MARK = "// Made for morph's software device, and for no GPU"


class ImageError(MorphError):
    """An image that the software device cannot load."""


@dataclasses.dataclass(frozen=True)
class Image:
    """A compiled module.

    Attributes:
        names: The lowered names, by their expressions.
        library: The shared object.
    """

    names: Mapping[str, str]
    library: bytes

    def text(self, toolkit: str) -> str:
        """Return it as programs get it.

        Args:
            toolkit: The name of the toolkit that has compiled it.
        """
        names = "".join(f"// name {json.dumps(pair)}\n" for pair in self.names.items())
        digest = hashlib.sha256(self.library).hexdigest()
        head = f"//\n{MARK}\n// toolkit {toolkit}\n// object {digest}\n{names}//\n"
        return head + base64.encodebytes(self.library).decode()

    @classmethod
    def parse(cls, text: str, toolkit: str) -> Image:
        """Read an image.

        Args:
            text: What a program has.
            toolkit: The name of the toolkit that it has to be for.

        Raises:
            ImageError: If it is none of this morph's, or not whole.
        """
        head, _, body = text.partition("\n//\n")
        lines = head.splitlines()
        facts = dict(re.findall(r"^// (toolkit|object) (\S+)$", "\n".join(lines[:4]), re.MULTILINE))
        if MARK not in lines[1:2] or "object" not in facts:
            raise ImageError("this is no image of a module that morph has compiled")
        if facts.get("toolkit") != toolkit:
            raise ImageError("another release of morph or torch has compiled this module; compile it again")
        try:
            library = base64.b64decode(body.replace("\n", ""), validate=True)
        except ValueError:
            library = b""
        if hashlib.sha256(library).hexdigest() != facts["object"]:
            raise ImageError("this image of a module is not whole; compile it again")
        names = [json.loads(line[8:]) for line in lines if line.startswith("// name ")]
        return cls(dict(names), library)
