"""Compares voices with the speaker encoder of Resemblyzer (Apache-2.0), computed by numpy.

Only the weights of the package are used, because its own code needs PyTorch. The network is a three-layer
LSTM on 40 mel bands of 1.6 s of 16 kHz audio, and a linear layer (Wan et al. 2018, "Generalized end-to-end
loss for speaker verification").
"""

import collections
import functools
import importlib.util
import os
import pickle

from mcp_stdio import ToolFailed, need

RATE, WINDOW, HOP, BANDS, FRAMES, STEP = 16000, 400, 160, 40, 160, 80
# Measured with synthetic voices, 3 s each: 0.81–0.88 for pairs of one voice, 0.45–0.69 for pairs of two.
SAME = 0.78
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are too small for several threads


class Weights(pickle.Unpickler):
    """Reads a checkpoint in PyTorch's older format. It refuses everything else that a pickle can contain."""

    def find_class(self, module, name):
        known = {("collections", "OrderedDict"): collections.OrderedDict,
                 ("torch", "FloatStorage"): "float32",
                 ("torch._utils", "_rebuild_tensor_v2"): lambda storage, offset, shape, *_: (storage, offset, shape)}
        if (module, name) not in known:
            raise ToolFailed(f"the weights name {module}.{name}, which a file of weights should not")
        return known[module, name]

    def persistent_load(self, ident):
        return ident[2]


@functools.cache
def weights():
    """The network's arrays by name."""
    numpy = need("numpy", "numpy")
    package = importlib.util.find_spec("resemblyzer")
    if package is None:
        raise ToolFailed("the weights of the Python package Resemblyzer are missing here; install it without "
                         "its dependencies: pip install --no-deps Resemblyzer")
    with open(os.path.join(os.path.dirname(package.origin), "pretrained.pt"), "rb") as file:
        _magic, _protocol, _system, checkpoint, keys = (Weights(file).load() for _ in range(5))
        storages = {}
        for key in keys:
            count = int.from_bytes(file.read(8), "little")
            storages[key] = numpy.frombuffer(file.read(4 * count), "<f4")
    arrays = {}
    for name, (storage, offset, shape) in checkpoint["model_state"].items():
        size = int(numpy.prod(shape))
        arrays[name] = storages[storage][offset:offset + size].reshape(shape)
    return arrays


@functools.cache
def mel_bands():
    """Triangular filters on Slaney's mel scale, each of area 1. Shape: (40, 201)."""
    numpy = need("numpy", "numpy")
    linear_to = 1000.0                                  # the scale is linear up to 1 kHz, logarithmic above
    step = numpy.log(6.4) / 27
    top = linear_to / (200 / 3) + numpy.log(RATE / 2 / linear_to) / step
    mels = numpy.linspace(0, top, BANDS + 2)
    corner = linear_to / (200 / 3)
    hertz = numpy.where(mels < corner, mels * 200 / 3, linear_to * numpy.exp(step * (mels - corner)))
    bins = numpy.arange(WINDOW // 2 + 1) * RATE / WINDOW
    rising = (bins - hertz[:-2, None]) / (hertz[1:-1] - hertz[:-2])[:, None]
    falling = (hertz[2:, None] - bins) / (hertz[2:] - hertz[1:-1])[:, None]
    return numpy.maximum(0, numpy.minimum(rising, falling)) * (2 / (hertz[2:] - hertz[:-2]))[:, None]


def mel_frames(wave):
    """The energy in the mel bands, every 10 ms. Shape: (frames, 40)."""
    numpy = need("numpy", "numpy")
    padded = numpy.pad(wave, WINDOW // 2)
    frames = numpy.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    hann = 0.5 - 0.5 * numpy.cos(2 * numpy.pi * numpy.arange(WINDOW) / WINDOW)
    power = numpy.abs(numpy.fft.rfft(frames * hann)) ** 2
    return (power @ mel_bands().T).astype("float32")


def lstm(inputs, layer):
    """All hidden states of one layer: (frames, batch, in) → (frames, batch, 256)."""
    numpy = need("numpy", "numpy")
    given = weights()
    hidden_weights = given[f"lstm.weight_hh_l{layer}"].T
    driven = inputs @ given[f"lstm.weight_ih_l{layer}"].T + given[f"lstm.bias_ih_l{layer}"] + given[f"lstm.bias_hh_l{layer}"]
    hidden = cell = numpy.zeros((inputs.shape[1], hidden_weights.shape[0]), "float32")
    states = numpy.empty((len(inputs), *hidden.shape), "float32")
    for time, gates in enumerate(driven):
        enter, forget, candidate, leave = numpy.split(gates + hidden @ hidden_weights, 4, axis=1)
        cell = sigmoid(forget) * cell + sigmoid(enter) * numpy.tanh(candidate)
        hidden = sigmoid(leave) * numpy.tanh(cell)
        states[time] = hidden
    return states


def sigmoid(value):
    return 0.5 + 0.5 * need("numpy", "numpy").tanh(0.5 * value)


def embed(samples):
    """The embedding of a voice: a unit vector of length 256. `samples`: 16-bit integers at 16 kHz, as bytes."""
    numpy = need("numpy", "numpy")
    wave = numpy.frombuffer(samples, "<i2") / 32768
    loudness = numpy.sqrt(numpy.mean(wave ** 2))
    if loudness == 0:
        raise ToolFailed("there is no sound to compare")
    wave = wave * max(1, 10 ** (-30 / 20) / loudness)  # amplifies quiet audio to −30 dBFS
    frames = mel_frames(wave)
    frames = numpy.pad(frames, ((0, max(0, FRAMES - len(frames))), (0, 0)))
    starts = range(0, len(frames) - FRAMES + 1, STEP)
    states = numpy.stack([frames[start:start + FRAMES] for start in starts], axis=1)
    for layer in range(3):
        states = lstm(states, layer)
    raw = numpy.maximum(0, states[-1] @ weights()["linear.weight"].T + weights()["linear.bias"])
    mean = (raw / numpy.linalg.norm(raw, axis=1, keepdims=True)).mean(axis=0)
    return mean / numpy.linalg.norm(mean)


def group(heard, least=1, most=None, alike=SAME):
    """Assigns a speaker to each voice: a number from 0, in the order of their first appearance. The two
    groups with the highest mean similarity of their members are joined while this similarity is at least
    `alike`. The result has `least` to `most` groups, if there are as many voices."""
    numpy = need("numpy", "numpy")
    likeness = numpy.array([[a @ b for b in heard] for a in heard])
    groups = [[index] for index in range(len(heard))]
    while len(groups) > least:
        nearest, i, j = max((likeness[numpy.ix_(a, b)].mean(), i, j)
                            for i, a in enumerate(groups) for j, b in enumerate(groups) if i < j)
        if nearest < alike and len(groups) <= (most or len(heard)):
            break
        groups[i] += groups.pop(j)
    groups.sort(key=min)
    return [next(number for number, members in enumerate(groups) if index in members) for index in range(len(heard))]
