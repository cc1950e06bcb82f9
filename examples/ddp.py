# SPDX-License-Identifier: Apache-2.0
"""Distributed data-parallel training that survives being stopped, killed or moved:  see ddp.yaml

A small network learns a made-up function. It saves a checkpoint now and then, tells Muster, and goes on from the last
one that counts when it is started again.
"""

import os
import pathlib
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
import muster_client  # noqa: E402


def batch(step, rank):
    torch.manual_seed(step * 1000 + rank)
    x = torch.randn(64, 8)
    return x, (x * torch.arange(1.0, 9.0)).sum(dim=1, keepdim=True)


def save(folder, model, optimizer, step):
    """Whole or not at all."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "step": step},
               folder / "new.pt")
    os.replace(folder / "new.pt", folder / "checkpoint.pt")


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    run = muster_client.attempt()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    first = 0
    if run.resume_from:
        kept = torch.load(pathlib.Path(run.resume_from) / "checkpoint.pt")
        model.module.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        first = kept["step"] + 1
        if rank == 0:
            print(f"resumed after step {kept['step']}", flush=True)
    for step in range(first, steps):
        x, y = batch(step, rank)
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and step % 10 == 0:
            print(f"step {step} loss {loss.item():.6f}", flush=True)
        # All ranks must agree: whoever was asked tells the others.
        wanted = torch.tensor([int(run.should_checkpoint()), int(run.stopping())])
        dist.all_reduce(wanted, op=dist.ReduceOp.MAX)
        if wanted[0] and rank == 0:
            save(run.checkpoint_dir, model, optimizer, step)
            run.checkpoint_saved(step)
        if wanted[1]:
            break
    if rank == 0:
        print(f"finished at step {step}", flush=True)


if __name__ == "__main__":
    main()
