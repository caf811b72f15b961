// Package metrics keeps numbers about the work of this process, and writes them to a file in the text format of
// Prometheus, which the collector of text files of its node exporter reads. Nothing listens.
package metrics

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"hgld/internal/atomicfile"
	"hgld/internal/crash"
)

// every is how often the file is written.
const every = 5 * time.Second

var kept struct {
	sync.Mutex
	values map[string]float64 // by name; that of a counter ends in _total
}

// Set sets a value, such as hgld_loss.
func Set(name string, value float64) { change(name, func(float64) float64 { return value }) }

// Add adds to a counter, such as hgld_images_total.
func Add(name string, n float64) { change(name, func(before float64) float64 { return before + n }) }

func change(name string, of func(before float64) float64) {
	kept.Lock()
	defer kept.Unlock()
	if kept.values == nil {
		kept.values = map[string]float64{}
	}
	kept.values[name] = of(kept.values[name])
}

// Text returns all values, sorted by name.
func Text() []byte {
	kept.Lock()
	defer kept.Unlock()
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(kept.values)) {
		kind := "gauge"
		if len(name) > 6 && name[len(name)-6:] == "_total" {
			kind = "counter"
		}
		fmt.Fprintf(&text, "# TYPE %s %s\n%[1]s %[3]s\n", name, kind, strconv.FormatFloat(kept.values[name], 'g', -1, 64))
	}
	return text.Bytes()
}

// Write writes the values to a file every few seconds, and once more when the returned function is called, which
// returns the last error. The file appears whole, as the collector expects.
func Write(path string) (end func() error) {
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		defer crash.Guard()
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			err := atomicfile.WriteFile(path, Text())
			select {
			case <-t.C:
			case <-stop:
				ended <- err
				return
			}
		}
	}()
	return func() error {
		close(stop)
		if err := <-ended; err != nil {
			return err
		}
		return atomicfile.WriteFile(path, Text())
	}
}
