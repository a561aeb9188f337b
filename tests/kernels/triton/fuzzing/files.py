"""Kernels in files, from which triton reads their source."""

import importlib.util


def function_of(source, name, folder):
    """Return a function of a new module, which knows triton."""
    file = folder / f"{name}.py"
    file.write_text(f"import triton\nimport triton.language as tl\n\n{source}")
    specification = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return getattr(module, name)
