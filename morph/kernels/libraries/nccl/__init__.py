"""NCCL on the software device: communicators by gloo, and the functions of libnccl over them."""
