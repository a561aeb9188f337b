// The LSTM cell; its gates lie in the order input, forget, cell, output.
#include "operators/interface.h"

using namespace soft_cann;

OPERATOR(aclnnThnnFusedLstmCell,
         (TensorArgument input_gates, TensorArgument hidden_gates, TensorArgument cell, TensorArgument input_bias,
          TensorArgument hidden_bias, TensorArgument new_hidden, TensorArgument new_cell, TensorArgument storage),
         {
           Tensor gates = input_gates->value + hidden_gates->value;
           if (present(input_bias)) gates = gates + input_bias->value + hidden_bias->value;
           auto parts = gates.chunk(4, 1);
           Tensor i = parts[0].sigmoid(), f = parts[1].sigmoid(), c = parts[2].tanh(), o = parts[3].sigmoid();
           Tensor next = f * cell->value + i * c;
           put(new_cell, next);
           put(new_hidden, o * next.tanh());
           put(storage, at::cat({i, f, c, o}, 1));
         })

OPERATOR(aclnnThnnFusedLstmCellBackward,
         (TensorArgument hidden_gradient, TensorArgument cell_gradient, TensorArgument cell, TensorArgument new_cell,
          TensorArgument storage, bool has_bias, TensorArgument gates_gradient, TensorArgument old_cell_gradient,
          TensorArgument bias_gradient),
         {
           auto parts = storage->value.chunk(4, 1);
           Tensor i = parts[0], f = parts[1], c = parts[2], o = parts[3], t = new_cell->value.tanh();
           Tensor dh = present(hidden_gradient) ? hidden_gradient->value : at::zeros_like(t);
           Tensor dc = dh * o * (1 - t * t);
           if (has_elements(cell_gradient)) dc = dc + cell_gradient->value;
           Tensor di = dc * c * i * (1 - i), df = dc * cell->value * f * (1 - f);
           Tensor gradient = at::cat({di, df, dc * i * (1 - c * c), dh * t * o * (1 - o)}, 1);
           put(gates_gradient, gradient);
           put(old_cell_gradient, dc * f);
           if (has_bias) put(bias_gradient, gradient.sum(0));
         })
