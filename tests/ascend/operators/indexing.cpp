// Selecting rows, which torch_npu does past the dispatcher when it packs sequences.
#include "operators/interface.h"

using namespace soft_cann;

OPERATOR(aclnnIndexSelect, (TensorArgument self, int64_t dimension, TensorArgument index, TensorArgument out),
         { put(out, self->value.index_select(dimension, index->value)); })
