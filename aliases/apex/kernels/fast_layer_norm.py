"""Layer normalisation of the rows of a matrix."""

from __future__ import annotations

from torch import Tensor

from .layer_norm import backward_affine, forward_affine_mixed_dtypes


def ln_fwd(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float, /) -> tuple[Tensor, Tensor, Tensor]:
    """Normalise rows.

    Args:
        x: Of shape (rows, columns).
        gamma: What each column is scaled by, of shape (columns,).
        beta: What each column is shifted by.
        epsilon: Added to the variance.

    Returns:
        The output, in the parameters' dtype, and the mean and the inverse deviation of each row, float32.
    """
    return forward_affine_mixed_dtypes(x, (gamma.numel(),), gamma, beta, epsilon)


def ln_bwd(
    dz: Tensor,
    x_or_z: Tensor,
    mu: Tensor | None,
    rsigma: Tensor,
    gamma: Tensor,
    beta: Tensor | None = None,
    memory_efficient: bool = False,
    /,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Compute gradients.

    Args:
        dz: The gradient of the output.
        x_or_z: The input, or the output if ``memory_efficient``.
        mu: The mean of each row; not needed from the output.
        rsigma: The inverse deviation of each row.
        gamma: What each column was scaled by.
        beta: What each column was shifted by; needed from the output.
        memory_efficient: Whether the output is given.

    Returns:
        The gradients of the input and of both parameters, and those of the parameters in float32.
    """
    shifted_by = gamma.new_zeros(gamma.shape) if beta is None else beta
    dx, dgamma, dbeta = backward_affine(
        dz, mu, rsigma, x_or_z, (gamma.numel(),), gamma, shifted_by, 1e-5, memory_efficient
    )
    return dx, dgamma, dbeta, dgamma.float().unsqueeze(0), dbeta.float().unsqueeze(0)
