"""Measures one program on a folder of JPEG files, for bench_images.

one PEER FOLDER      decode, RandomResizedCrop 224, flip, normalise: one thread, files in memory
loader PEER FOLDER   the same by a DataLoader with two workers and batches of 64, which read the files

PEER is torchvision or PIL, the latter with the same transforms. Prints "images-per-second
processor-milliseconds-per-image", the best of three passes. The time of the workers counts.
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["HGLD_SHARED"], "bench", "peers"))
sys.dont_write_bytecode = True
import bench_image  # noqa: E402
import torch  # noqa: E402

PEERS = {"torchvision": "torchvision.io+v2", "PIL": "PIL+torchvision"}


def best(images, work, clock):
    passes = []
    for _ in range(3):
        began, used = time.perf_counter(), clock()
        work()
        passes.append((images / (time.perf_counter() - began), 1000 * (clock() - used) / images))
    print(f"{max(p[0] for p in passes):.1f} {min(p[1] for p in passes):.3f}")


def one(peer, folder):
    class Arguments:
        data = os.path.dirname(folder)

    torch.set_num_threads(1)
    transform, _ = bench_image.maker({"peer": PEERS[peer], "threads": 1})
    files = bench_image.blobs(Arguments)

    def work():
        for file in files:
            transform(file)

    work()
    best(len(files), work, time.process_time)


def loader(peer, folder):
    class Arguments:
        data = os.path.dirname(folder)

    data = bench_image.DS({"peer": PEERS[peer]}, Arguments, 4)
    batches = torch.utils.data.DataLoader(data, 64, shuffle=True, num_workers=2, persistent_workers=True,
                                          prefetch_factor=4)

    def work():
        for _ in batches:
            pass

    def clock():
        total = time.process_time()
        for worker in batches._iterator._workers:
            fields = open(f"/proc/{worker.pid}/stat").read().rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return total

    work()
    best(len(data), work, clock)


{"one": one, "loader": loader}[sys.argv[1]](sys.argv[2], sys.argv[3].rstrip("/"))
