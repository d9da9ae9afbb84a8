"""The models that PyTorch trains in the comparisons."""

from torch import nn


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(unit(channels, channels), unit(channels, channels))

    def forward(self, x):
        return x + self.body(x)


def unit(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


def residual_network(width):
    return nn.Sequential(
        unit(1, width), nn.MaxPool2d(2),
        unit(width, 2 * width), Residual(2 * width), nn.MaxPool2d(2),
        unit(2 * width, 4 * width), Residual(4 * width), nn.AdaptiveMaxPool2d(1), nn.Flatten(),
        nn.Linear(4 * width, 10),
    )  # fmt: skip


def build(model):
    if model == "resnet":
        return residual_network(16)
    if model == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Dropout(0.2), nn.Linear(512, 10))
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(),
        nn.Linear(576, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip
