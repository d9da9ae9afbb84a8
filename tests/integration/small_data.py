"""A small data set that a model can learn, as files that lockring data ingest takes."""
import random
import struct
import subprocess

SIDE = 18  # of an image: the smallest that all models take


def write_idx(path, kind, sizes, values):
    path.write_bytes(struct.pack(f">I{len(sizes)}I", kind, *sizes) + values)


def write_split(folder, name, count):
    """Noisy images of ten classes: a bright bar whose place tells the class."""
    labels = bytes(random.randrange(10) for _ in range(count))
    noise = random.randbytes(count * SIDE * SIDE)
    dark = bytes(value * 5 // 8 for value in range(256))
    rows = [noise[i * SIDE:(i + 1) * SIDE] for i in range(count * SIDE)]
    pixels = b"".join(row if label + 3 <= y < label + 6 else row.translate(dark)
                      for image, label in enumerate(labels)
                      for y, row in enumerate(rows[image * SIDE:(image + 1) * SIDE]))
    write_idx(folder / f"{name}-images-idx3-ubyte", 0x803, [count, SIDE, SIDE], pixels)
    write_idx(folder / f"{name}-labels-idx1-ubyte", 0x801, [count], labels)


def ingest(program, root, name, train, test):
    """Makes a data set of so many images and stores it in root/data."""
    raw = root / f"raw {name}"
    raw.mkdir()
    write_split(raw, "train", train)
    write_split(raw, "t10k", test)
    subprocess.run([program, "data", "ingest", "--dataset", name, "--source", raw, "--data-dir", root / "data",
                    "--quiet"], check=True, stdout=subprocess.DEVNULL)
