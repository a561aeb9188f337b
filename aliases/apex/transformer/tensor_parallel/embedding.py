"""Embeddings whose vocabulary is spread over the tensor-parallel group."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.init import xavier_normal_

from ..ranks import get_tensor_model_parallel_rank, get_tensor_model_parallel_world_size
from .attributes import Initialiser, new_weight
from .mappings import reduce_from_tensor_model_parallel_region
from .utils import VocabUtility


class VocabParallelEmbedding(nn.Module):
    """An embedding whose vocabulary is spread over the group.

    Args:
        num_embeddings: The size of the whole vocabulary.
        embedding_dim: The size of an embedding.
        init_method: Fills the weight.
        params_dtype: The weight's dtype.
        use_cpu_initialization: Whether the weight is made on the host.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        init_method: Initialiser = xavier_normal_,
        *,
        params_dtype: torch.dtype = torch.float32,
        use_cpu_initialization: bool = False,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.tensor_model_parallel_size = get_tensor_model_parallel_world_size()
        self.vocab_start_index, self.vocab_end_index = VocabUtility.vocab_range_from_global_vocab_size(
            num_embeddings, get_tensor_model_parallel_rank(), self.tensor_model_parallel_size
        )
        self.num_embeddings_per_partition = self.vocab_end_index - self.vocab_start_index
        self.weight, _ = new_weight(
            num_embeddings, embedding_dim, 0, init_method, 1, params_dtype, use_cpu_initialization
        )

    def forward(self, input_: Tensor) -> Tensor:
        """Return the embeddings of the tokens, the same in every process."""
        elsewhere = (input_ < self.vocab_start_index) | (input_ >= self.vocab_end_index)
        here = (input_ - self.vocab_start_index).masked_fill(elsewhere, 0)
        output = F.embedding(here, self.weight).masked_fill(elsewhere.unsqueeze(-1), 0.0)
        return reduce_from_tensor_model_parallel_region(output)
