"""TensorFlow: one tf.function a step on data in memory, with and without XLA. Keras' own fit is no faster than this."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import common

import tensorflow as tf


def build(model):
    layers = tf.keras.layers
    stack = [layers.Input((28, 28, 1))]
    if model == "mlp":
        stack += [layers.Flatten(), layers.Dense(512, activation="relu"), layers.Dropout(0.2)]
    else:
        stack += [
            layers.Conv2D(32, 3, activation="relu"), layers.MaxPool2D(2),
            layers.Conv2D(64, 3, activation="relu"), layers.MaxPool2D(2),
            layers.Conv2D(64, 3, activation="relu"), layers.Flatten(),
            layers.Dense(64, activation="relu"),
        ]  # fmt: skip
    return tf.keras.Sequential(stack + [layers.Dense(10)])


def set_threads(threads):
    if tf.config.threading.get_intra_op_parallelism_threads() == 0:  # can be said only once
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)


def training(xla):
    def prepare(model, batch_size, threads):
        set_threads(threads)
        images, labels = (tf.constant(array) for array in common.load_data())
        net = build(model)
        optimizer = tf.keras.optimizers.Adam(common.LEARNING_RATE)
        optimizer.build(net.trainable_variables)

        @tf.function(jit_compile=xla)
        def update(pixels, y):
            with tf.GradientTape() as tape:
                logits = net(tf.cast(pixels[..., None], tf.float32) / 255.0, training=True)
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.cast(y, tf.int32), logits)
                loss = tf.reduce_mean(losses)
            gradients = tape.gradient(loss, net.trainable_variables)
            optimizer.apply_gradients(zip(gradients, net.trainable_variables))
            return loss

        @tf.function
        def train(batch):
            return update(tf.gather(images, batch), tf.gather(labels, batch))

        draw = common.batches(batch_size)
        last = []

        def step():
            last[:] = [train(tf.constant(next(draw)))]

        return step, lambda: last[0].numpy()

    return prepare


def inference(xla):
    def prepare(model, batch_size, threads):
        set_threads(threads)
        net = build(model)
        x = tf.constant(common.inputs(batch_size))
        forward = tf.function(lambda: net(x, training=False), jit_compile=xla)
        return lambda: forward().numpy()

    return prepare


def forms(make):
    return lambda model: {"function": make(False), "XLA": make(True)}


common.main(tf.__version__, forms(training), forms(inference))
