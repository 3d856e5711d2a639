import torch.distributed as dist


def group_of_node(per_node: int) -> dist.ProcessGroup | None:
    own = None
    for start in range(0, dist.get_world_size(), per_node):
        ranks = list(range(start, start + per_node))
        if dist.get_rank() in ranks:
            own = dist.new_group(
                ranks,
                backend="gloo",  # of the node
            )
    return own
