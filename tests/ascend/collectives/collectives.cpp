// The collectives. Each is complete when it returns, and reduces in the order of ranks, so that all ranks
// come to the same bits.
#include <ATen/ATen.h>

#include "collectives/communicator.h"

namespace soft_cann {
namespace {

at::ScalarType reducible_type(HcclDataType type) {
  switch (type) {
    case HCCL_DATA_TYPE_INT8: return at::kChar;
    case HCCL_DATA_TYPE_INT16: return at::kShort;
    case HCCL_DATA_TYPE_INT32: return at::kInt;
    case HCCL_DATA_TYPE_INT64: return at::kLong;
    case HCCL_DATA_TYPE_UINT8: return at::kByte;
    case HCCL_DATA_TYPE_FP16: return at::kHalf;
    case HCCL_DATA_TYPE_BFP16: return at::kBFloat16;
    case HCCL_DATA_TYPE_FP32: return at::kFloat;
    case HCCL_DATA_TYPE_FP64: return at::kDouble;
    default: TORCH_CHECK(false, "HCCL data type ", int(type), " cannot be reduced");
  }
}

size_t width(HcclDataType type) {
  switch (type) {
    case HCCL_DATA_TYPE_UINT16: return 2;
    case HCCL_DATA_TYPE_UINT32: return 4;
    case HCCL_DATA_TYPE_UINT64: return 8;
    case HCCL_DATA_TYPE_INT128: return 16;
    case HCCL_DATA_TYPE_HIF8:
    case HCCL_DATA_TYPE_FP8E4M3:
    case HCCL_DATA_TYPE_FP8E5M2:
    case HCCL_DATA_TYPE_FP8E8M0: return 1;
    default: return c10::elementSize(reducible_type(type));
  }
}

char *address(const void *buffer, size_t offset = 0) {
  return static_cast<char *>(const_cast<void *>(buffer)) + offset;
}

void accumulate(at::Tensor &sum, const at::Tensor &next, HcclReduceOp operation) {
  switch (operation) {
    case HCCL_REDUCE_SUM: sum.add_(next); break;
    case HCCL_REDUCE_PROD: sum.mul_(next); break;
    case HCCL_REDUCE_MAX: at::maximum_out(sum, sum, next); break;
    case HCCL_REDUCE_MIN: at::minimum_out(sum, sum, next); break;
    default: TORCH_CHECK(false, "HCCL reduction ", int(operation), " is not implemented");
  }
}

void reduce(std::vector<std::vector<char>> &parts, HcclDataType type, HcclReduceOp operation, void *out) {
  c10::InferenceMode no_autograd;
  auto scalar = reducible_type(type);
  auto count = int64_t(parts[0].size() / c10::elementSize(scalar));
  at::Tensor sum = at::from_blob(parts[0].data(), {count}, scalar);
  for (size_t i = 1; i < parts.size(); i++)
    accumulate(sum, at::from_blob(parts[i].data(), {count}, scalar), operation);
  at::from_blob(out, {count}, scalar).copy_(sum);
}

// What each rank gives to each other, in elements: `counts[r]` of them at `offsets[r]` of its send buffer.
struct Shares {
  std::vector<size_t> counts;
  std::vector<size_t> offsets;
};

HcclResult exchange_and_reduce(Communicator &group, const void *send, const Shares &shares, void *receive,
                               HcclDataType type, HcclReduceOp operation) {
  size_t own = shares.counts[group.rank] * width(type);
  std::vector<std::vector<char>> parts(group.size, std::vector<char>(own));
  std::vector<Transfer> transfers;
  for (int peer = 0; peer < group.size; peer++) {
    char *from = address(send, shares.offsets[peer] * width(type));
    transfers.push_back({peer, true, from, shares.counts[peer] * width(type)});
    transfers.push_back({peer, false, parts[peer].data(), own});
  }
  if (HcclResult error = group.transfer(transfers)) return error;
  if (own) reduce(parts, type, operation, receive);
  return HCCL_SUCCESS;
}

}  // namespace
}  // namespace soft_cann

using namespace soft_cann;

EXPORT HcclResult HcclReduceScatter(void *send, void *receive, uint64_t count, HcclDataType type,
                                    HcclReduceOp operation, HcclComm comm, aclrtStream) {
  auto &group = *as_communicator(comm);
  Shares shares{std::vector<size_t>(group.size, count), {}};
  for (int peer = 0; peer < group.size; peer++) shares.offsets.push_back(peer * count);
  return exchange_and_reduce(group, send, shares, receive, type, operation);
}

EXPORT HcclResult HcclAllReduce(void *send, void *receive, uint64_t count, HcclDataType type,
                                HcclReduceOp operation, HcclComm comm, aclrtStream) {
  auto &group = *as_communicator(comm);
  Shares shares{std::vector<size_t>(group.size, count), std::vector<size_t>(group.size, 0)};
  return exchange_and_reduce(group, send, shares, receive, type, operation);
}

EXPORT HcclResult HcclReduce(void *send, void *receive, uint64_t count, HcclDataType type, HcclReduceOp operation,
                             uint32_t root, HcclComm comm, aclrtStream) {
  auto &group = *as_communicator(comm);
  Shares shares{std::vector<size_t>(group.size, 0), std::vector<size_t>(group.size, 0)};
  shares.counts[root] = count;
  return exchange_and_reduce(group, send, shares, receive, type, operation);
}

EXPORT HcclResult HcclAllGather(void *send, void *receive, uint64_t count, HcclDataType type, HcclComm comm,
                                aclrtStream) {
  auto &group = *as_communicator(comm);
  size_t size = width(type) * count;
  std::vector<char> own(address(send), address(send, size));  // `send` may lie inside `receive`
  std::vector<Transfer> transfers;
  for (int peer = 0; peer < group.size; peer++) {
    transfers.push_back({peer, true, own.data(), size});
    transfers.push_back({peer, false, address(receive, peer * size), size});
  }
  return group.transfer(transfers);
}

EXPORT HcclResult HcclBroadcast(void *buffer, uint64_t count, HcclDataType type, uint32_t root, HcclComm comm,
                                aclrtStream) {
  auto &group = *as_communicator(comm);
  const int from = int(root);
  const size_t size = count * width(type);
  if (group.rank != from) return group.transfer({{from, false, address(buffer), size}});
  std::vector<Transfer> transfers;
  for (int peer = 0; peer < group.size; peer++)
    if (peer != from) transfers.push_back({peer, true, address(buffer), size});
  return group.transfer(transfers);
}

EXPORT HcclResult HcclScatter(void *send, void *receive, uint64_t count, HcclDataType type, uint32_t root,
                              HcclComm comm, aclrtStream) {
  auto &group = *as_communicator(comm);
  const size_t size = count * width(type);
  std::vector<Transfer> transfers{{int(root), false, address(receive), size}};
  for (int peer = 0; group.rank == int(root) && peer < group.size; peer++)
    transfers.push_back({peer, true, address(send, peer * size), size});
  return group.transfer(transfers);
}

EXPORT HcclResult HcclSend(void *buffer, uint64_t count, HcclDataType type, uint32_t to, HcclComm comm,
                           aclrtStream) {
  return as_communicator(comm)->transfer({{int(to), true, address(buffer), count * width(type)}});
}

EXPORT HcclResult HcclRecv(void *buffer, uint64_t count, HcclDataType type, uint32_t from, HcclComm comm,
                           aclrtStream) {
  return as_communicator(comm)->transfer({{int(from), false, address(buffer), count * width(type)}});
}

EXPORT HcclResult HcclBatchSendRecv(HcclSendRecvItem *items, uint32_t count, HcclComm comm, aclrtStream) {
  std::vector<Transfer> transfers;
  for (uint32_t i = 0; i < count; i++) {
    const HcclSendRecvItem &item = items[i];
    bool sends = item.sendRecvType == HCCL_SEND;
    transfers.push_back({int(item.remoteRank), sends, address(item.buf), item.count * width(item.dataType)});
  }
  return as_communicator(comm)->transfer(transfers);
}

EXPORT HcclResult HcclAlltoAllV(const void *send, const void *send_counts, const void *send_offsets,
                                HcclDataType send_type, const void *receive, const void *receive_counts,
                                const void *receive_offsets, HcclDataType receive_type, HcclComm comm,
                                aclrtStream) {
  auto &group = *as_communicator(comm);
  auto bytes = [](const void *elements, int peer, HcclDataType type) {
    return size_t(static_cast<const uint64_t *>(elements)[peer]) * width(type);
  };
  std::vector<Transfer> transfers;
  for (int peer = 0; peer < group.size; peer++) {
    char *from = address(send, bytes(send_offsets, peer, send_type));
    char *to = address(receive, bytes(receive_offsets, peer, receive_type));
    transfers.push_back({peer, true, from, bytes(send_counts, peer, send_type)});
    transfers.push_back({peer, false, to, bytes(receive_counts, peer, receive_type)});
  }
  return group.transfer(transfers);
}

EXPORT HcclResult HcclAlltoAll(const void *send, uint64_t send_count, HcclDataType send_type, const void *receive,
                               uint64_t receive_count, HcclDataType receive_type, HcclComm comm, aclrtStream) {
  auto &group = *as_communicator(comm);
  size_t out = send_count * width(send_type), in = receive_count * width(receive_type);
  std::vector<Transfer> transfers;
  for (int peer = 0; peer < group.size; peer++) {
    transfers.push_back({peer, true, address(send, peer * out), out});
    transfers.push_back({peer, false, address(receive, peer * in), in});
  }
  return group.transfer(transfers);
}
