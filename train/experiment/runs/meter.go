package runs

import (
	"fmt"
	"time"

	"hgld/internal/terminal"
	"hgld/train"
	"hgld/train/config"
)

// Meter summarises the steps of the last half minute for a progress line.
type Meter struct {
	Vectors bool // set for a run on vectors instead of images

	// PerEpoch is the number of steps per epoch. Epochs is the number of epochs, including a
	// partial one; if 0, the line does not mention epochs.
	PerEpoch, Epochs int

	images, seconds, waited float64
	loss                    *float64 // nil: no step had one
	began                   time.Time
}

// Note adds a step and returns the summary.
func (m *Meter) Note(e train.Event) string {
	if m.began.IsZero() || time.Since(m.began) > terminal.LineEvery {
		*m = Meter{Vectors: m.Vectors, PerEpoch: m.PerEpoch, Epochs: m.Epochs, began: time.Now()}
	}
	m.images += float64(e.Images)
	m.seconds += e.Seconds
	m.waited += e.Waited
	value := "–"
	if e.Loss != nil {
		if m.loss == nil {
			m.loss = new(*e.Loss)
		}
		*m.loss += (*e.Loss - *m.loss) / 10 // a running mean over about ten steps
	}
	if m.loss != nil {
		value = fmt.Sprintf("%.4f", *m.loss)
	}
	unit := "img"
	if m.Vectors {
		unit = "vectors"
	}
	return fmt.Sprintf("%sloss %s, lr %.2g, %.0f %s/s, %.0f %% waiting for %s", m.epoch(e.Step), value, e.Rate,
		m.images/m.seconds, unit, 100*m.waited/m.seconds, config.ItemsText(m.Vectors))
}

// epoch names the epoch that a step belongs to, counted from 1.
func (m *Meter) epoch(step int) string {
	if m.PerEpoch == 0 || step == 0 {
		return ""
	}
	return fmt.Sprintf("epoch %d of %d, ", (step-1)/m.PerEpoch+1, m.Epochs)
}
