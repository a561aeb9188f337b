// Making communicators, and asking them.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "collectives/communicator.h"

using namespace soft_cann;

EXPORT HcclResult HcclGetRootInfo(HcclRootInfo *info) {
  static std::atomic<int> asked{0};
  std::memset(info, 0, sizeof *info);
  auto time = std::chrono::system_clock::now().time_since_epoch().count();
  std::snprintf(info->internal, sizeof info->internal, "%d-%d-%lx", getpid(), asked++, long(time));
  return HCCL_SUCCESS;
}

EXPORT HcclResult HcclCommInitRootInfo(uint32_t size, const HcclRootInfo *info, uint32_t rank, HcclComm *comm) {
  return Communicator::create(info->internal, int(size), int(rank), comm);
}

EXPORT HcclResult HcclCommInitRootInfoConfig(uint32_t size, const HcclRootInfo *info, uint32_t rank,
                                             const HcclCommConfig *, HcclComm *comm) {
  return HcclCommInitRootInfo(size, info, rank, comm);
}

EXPORT HcclResult HcclCommInitAll(uint32_t size, int32_t *, HcclComm *comms) {
  HcclRootInfo name;
  HcclGetRootInfo(&name);
  return Communicator::create_all(name.internal, int(size), comms);
}

EXPORT HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t size, uint32_t *, uint64_t id, uint32_t rank,
                                          HcclCommConfig *, HcclComm *sub) {
  std::string name = as_communicator(*comm)->name + "/" + std::to_string(id);
  return Communicator::create(name, int(size), int(rank), sub);
}

EXPORT HcclResult HcclCommDestroy(HcclComm comm) {
  delete as_communicator(comm);
  return HCCL_SUCCESS;
}

EXPORT HcclResult HcclGetCommName(HcclComm comm, char *name) {
  std::snprintf(name, COMM_NAME_MAX_LENGTH, "%s", as_communicator(comm)->name.c_str());
  return HCCL_SUCCESS;
}

EXPORT HcclResult HcclGetCommAsyncError(HcclComm, HcclResult *error) {
  *error = HCCL_SUCCESS;
  return HCCL_SUCCESS;
}

EXPORT uint32_t HcclGetCommConfigCapability() { return HCCL_COMM_CONFIG_COMM_NAME + 1; }
EXPORT HcclResult HcclSetConfig(HcclConfig, HcclConfigValue) { return HCCL_SUCCESS; }
EXPORT HcclResult HcclCommResume(HcclComm) { return HCCL_SUCCESS; }
