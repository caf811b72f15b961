package runs

import (
	"strings"
	"testing"

	"hgld/train"
)

func TestProgressNamesTheEpochOfAStep(t *testing.T) {
	loss := 0.5
	e := train.Event{Kind: train.Stepped, Loss: &loss, Rate: 1e-3, Images: 32, Seconds: 0.1}
	m := Meter{PerEpoch: 10, Epochs: 3, Vectors: true}
	for step, want := range map[int]string{
		1: "epoch 1 of 3, loss 0.5000, ", 10: "epoch 1 of 3", 11: "epoch 2 of 3", 21: "epoch 3 of 3",
	} {
		if e.Step = step; !strings.HasPrefix(m.Note(e), want) {
			t.Errorf("step %d: %q, want %q", step, m.Note(e), want)
		}
	}
	if note := m.Note(e); !strings.HasSuffix(note, " vectors/s, 0 % waiting for vectors") {
		t.Errorf("%q speaks of images", note)
	}
	m = Meter{}
	if note := m.Note(e); !strings.HasPrefix(note, "loss") || !strings.HasSuffix(note, " img/s, 0 % waiting for images") {
		t.Errorf("%q", note)
	}
}

func TestTensorBoardHasTheEpoch(t *testing.T) {
	for _, s := range scalars(train.Event{Kind: train.Stepped, Step: 25, Epoch: 2, Seconds: 1}) {
		if s.Tag == "train/epoch" && s.Value == 2 {
			return
		}
	}
	t.Error("train/epoch is missing")
}
