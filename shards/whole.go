package shards

import (
	"sync"

	"hgld/internal/img"
)

// wholeImages keeps the last images of which parts became rows, so that each is decoded once: the parts of an image
// follow one another. It serves several goroutines at once.
type wholeImages struct {
	most int // how many are kept, one for each worker
	lock sync.Mutex
	last []*wholeImage // the newest at the end
}

type wholeImage struct {
	sha256 [32]byte // of the file
	decode func() (*img.RGB, error)
}

// keptBytes is the memory of the pixels that are kept, of all images together.
const keptBytes = 96 << 20

// decode returns what decode returns for a file, from memory if it is kept. Nobody changes the pixels.
func (w *wholeImages) decode(sha256 [32]byte, info img.Info, decode func() (*img.RGB, error)) (*img.RGB, error) {
	if 3*info.W*info.H > keptBytes/max(w.most, 1) {
		return decode()
	}
	w.lock.Lock()
	for _, kept := range w.last {
		if kept.sha256 == sha256 {
			w.lock.Unlock()
			return kept.decode()
		}
	}
	added := &wholeImage{sha256, sync.OnceValues(decode)}
	if w.last = append(w.last, added); len(w.last) > w.most {
		w.last = w.last[1:]
	}
	w.lock.Unlock()
	return added.decode()
}
