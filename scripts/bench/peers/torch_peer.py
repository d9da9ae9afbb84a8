"""PyTorch, eager and compiled, in either memory layout."""

import common

import torch
from torch.nn import functional as F
from torch_model import build


def training(channels_last, compiled):
    def prepare(model, batch_size, threads):
        torch.set_num_threads(threads)
        torch.manual_seed(0)
        images, labels = (torch.from_numpy(array) for array in common.load_data())
        labels = labels.long()
        net = build(model)
        if channels_last:
            net = net.to(memory_format=torch.channels_last)
        optimizer = torch.optim.Adam(net.parameters(), lr=common.LEARNING_RATE, fused=True)
        loss_of = lambda x, y: F.cross_entropy(net(x), y)
        if compiled:
            loss_of = torch.compile(loss_of)
        draw = common.batches(batch_size)

        def step():
            batch = torch.from_numpy(next(draw))
            loss = loss_of(images[batch].float().div_(255).unsqueeze(1), labels[batch])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()

        return step, lambda: None

    return prepare


def inference(channels_last, frozen):
    def prepare(model, batch_size, threads):
        torch.set_num_threads(threads)
        torch.manual_seed(0)
        net = build(model).eval()
        x = torch.from_numpy(common.inputs(batch_size)).permute(0, 3, 1, 2)
        layout = torch.channels_last if channels_last else torch.contiguous_format
        net, x = net.to(memory_format=layout), x.contiguous(memory_format=layout)
        with torch.inference_mode():
            forward = torch.compile(net, options={"freezing": True}) if frozen else net

        @torch.inference_mode()
        def call():
            forward(x)

        return call

    return prepare


def forms(make):
    plain = {"eager": make(False, False), "compile": make(False, True)}
    with_layout = {"channels_last": make(True, False), "compile channels_last": make(True, True)}
    return lambda model: plain | with_layout if model == "cnn" else plain


common.main(torch.__version__, forms(training), forms(inference))
