"""How a network is built, as a configuration file says it."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class DropoutConfiguration(BaseModel):
    """Which share of which activations is dropped in training."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    embeddings: float = Field(
        default=0.0, ge=0, lt=1, description="Share of source and action embeddings dropped, each place on its own."
    )
    states: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Share of every LSTM's hidden state dropped where it enters its own recurrent product, "
        "the same places at all steps of a sentence.",
    )
    readout: float = Field(
        default=0.0, ge=0, lt=1, description="Share of the features dropped before the softmax, each place on its own."
    )


class ModelConfiguration(BaseModel):
    """The sizes and the kinds of a network's parts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    decoder: Literal["tree", "sequence"] = Field(
        default="tree", description="TrDec's two RNNs, or the attentional LSTM that writes sequences."
    )
    embedding_size: int = Field(default=512, gt=0, description="Size of source and action embeddings.")
    hidden_size: int = Field(default=512, gt=0, description="Size of every LSTM's state, one direction of the encoder.")
    encoder_layers: int = Field(default=1, gt=0, description="Number of bidirectional LSTM layers in the encoder.")
    attention: Literal["additive", "dot"] = Field(
        default="additive", description="How a state scores a source place: v tanh(W s + U h), or the product s (U h)."
    )
    readout: Literal["paper", "released"] = Field(
        default="released",
        description="What the tree decoder's softmax sees: tanh of a projection of states and contexts, as the "
        "authors' released code has it, or tanh of the two states alone, as the paper writes it. "
        "The sequence decoder always projects its state and context.",
    )
    start: Literal["bridge", "last_state"] = Field(
        default="bridge",
        description="How decoder states begin: a projection of the encoder's final cells, "
        "or the mean of its two directions' final states.",
    )
    tie_embeddings: bool = Field(
        default=False, description="Use the action embeddings as the softmax matrix, which needs features of that size."
    )
    initialisation: Literal["uniform", "xavier"] = Field(
        default="uniform", description="Draw every parameter uniformly, or matrices after Glorot with biases zero."
    )
    initialisation_range: float = Field(
        default=0.1, gt=0, description="Uniform initialisation draws from minus this number to this number."
    )
    dropout: DropoutConfiguration = Field(
        default=DropoutConfiguration(), description="What is dropped in training, nothing by default."
    )

    @model_validator(mode="after")
    def _features_as_large_as_embeddings(self) -> Self:
        if self.tie_embeddings and self.decoder == "tree" and self.readout == "paper":
            features = 2 * self.hidden_size
            if features != self.embedding_size:
                raise ValueError(
                    f"tie_embeddings needs features of the embeddings' size, {self.embedding_size}, but this decoder's "
                    f"readout gives {features}. Choose readout: released, or do not tie."
                )
        return self
