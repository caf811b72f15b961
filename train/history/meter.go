package history

import (
	"fmt"
	"time"

	"hgld/internal/terminal"
	"hgld/train"
)

// Meter summarises the steps of the last half minute for a progress line.
type Meter struct {
	images, seconds, waited float64
	loss                    *float64 // nil: no step had one
	began                   time.Time
}

// Note adds a step and returns the summary.
func (m *Meter) Note(e train.Event) string {
	if m.began.IsZero() || time.Since(m.began) > terminal.LineEvery {
		*m = Meter{began: time.Now()}
	}
	m.images += float64(e.Images)
	m.seconds += e.Seconds
	m.waited += e.Waited
	value := "–"
	if e.Loss != nil {
		if m.loss == nil {
			m.loss = new(*e.Loss)
		}
		*m.loss += (*e.Loss - *m.loss) / 10 // a running mean over some ten steps
	}
	if m.loss != nil {
		value = fmt.Sprintf("%.4f", *m.loss)
	}
	return fmt.Sprintf("loss %s, lr %.2g, %.0f img/s, %.0f %% waiting for images", value, e.Rate, m.images/m.seconds,
		100*m.waited/m.seconds)
}
