package powercut

import (
	"fmt"
	"hash/maphash"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// blockSize is what a disk writes at once, at least.
const blockSize = 512

// reached says what of a file's changes is on the disk.
type reached struct {
	what  int // how many changes, of those below
	bytes int // of the change behind them
	kind  reachedKind
	rng   uint64
}

type reachedKind uint8

const (
	everything reachedKind = iota
	nothing
	sizeAlone // the size, and no data
	first     // the changes before the one called what, and the first bytes of that
	firstLong // as first, and the size that change gives the file
	without   // all but the change called what
	blocks    // of each block, the new content or the old, as rng says
)

var all = reached{kind: everything}

// content is the file's data if so much of it has reached the disk.
func (n *node) content(r reached) []byte {
	data := n.data
	switch r.kind {
	case nothing:
		return data
	case sizeAlone: // what was cut off and written again has lost its blocks
		for _, c := range n.changes {
			if end := c.at + int64(len(c.data)); c.truncate {
				data = resized(data, c.length)
			} else if end > int64(len(data)) {
				data = resized(data, end)
			}
		}
		return data
	case blocks:
		return n.mixed(rand.New(rand.NewPCG(r.rng, 1)))
	}
	if len(n.changes) > 0 {
		data = slices.Clone(data)
	}
	for i, c := range n.changes {
		switch {
		case r.kind == without && i == r.what:
			continue
		case (r.kind == first || r.kind == firstLong) && i == r.what:
			if r.kind == firstLong && !c.truncate {
				if end := c.at + int64(len(c.data)); end > int64(len(data)) {
					data = resized(data, end)
				}
			}
			if c.truncate && r.bytes == 0 {
				return data
			}
			return c.apply(data, r.bytes)
		}
		data = c.apply(data, len(c.data))
	}
	return data
}

// mixed takes each block from before the changes or from behind one of them.
func (n *node) mixed(rng *rand.Rand) []byte {
	old, now := n.data, n.content(all)
	size := len(old)
	if rng.IntN(4) > 0 {
		size = len(now)
	}
	out := resized(old, int64(size))
	for at := 0; at < size; at += blockSize {
		end := min(at+blockSize, size)
		if rng.IntN(2) == 0 && at < len(now) {
			copy(out[at:end], now[at:min(end, len(now))])
		}
	}
	return out
}

// Crash is what a file system holds after a power cut.
type Crash struct {
	Cut  int    // the number of calls before it
	Call string // the last of them
	What string // what has reached the disk

	// Acknowledged is what the program had written to the file Acknowledgements.
	Acknowledged string

	key  uint64
	disk *disk
	in   []bool // of the moves
	data map[*node]reached
}

// names returns the entries of a folder.
func (c *Crash) names(folder *node) map[string]*node {
	list := maps.Clone(folder.names)
	for i, m := range c.disk.moves {
		for _, p := range m {
			if p.folder == folder && c.in[i] {
				setName(list, p)
			}
		}
	}
	return list
}

// walk calls visit for everything below the root, a folder before what is in it.
func (c *Crash) walk(visit func(path string, n *node) error) error {
	return c.walkIn("", c.disk.root, visit)
}

func (c *Crash) walkIn(path string, folder *node, visit func(path string, n *node) error) error {
	names := c.names(folder)
	for _, base := range slices.Sorted(maps.Keys(names)) {
		n := names[base]
		at := filepath.Join(path, base)
		if at == Acknowledgements {
			continue
		}
		if err := visit(at, n); err != nil {
			return err
		}
		if n.names != nil {
			if err := c.walkIn(at, n, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Crash) content(n *node) []byte { return n.content(c.data[n]) }

// Restore writes the folder into dir, which is empty.
func (c *Crash) Restore(dir string) error {
	return c.walk(func(path string, n *node) error {
		path = filepath.Join(dir, path)
		switch {
		case n.mode.IsDir():
			return os.Mkdir(path, n.mode.Perm()|0o700)
		case n.mode&fs.ModeSymlink != 0:
			return os.Symlink(n.link, path)
		}
		return os.WriteFile(path, c.content(n), n.mode.Perm()|0o600)
	})
}

var seed = maphash.MakeSeed()

// sum tells folders apart that differ.
func (c *Crash) sum() uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	c.walk(func(path string, n *node) error {
		h.WriteString(path)
		h.WriteString(n.link)
		if n.names == nil {
			data := c.content(n)
			h.WriteString(fmt.Sprintf("\x00%d\x00", len(data)))
			h.Write(data)
		}
		return nil
	})
	h.WriteString("\x00\x00" + c.Acknowledged)
	return h.Sum64()
}

// String says where the power failed and what has reached the disk.
func (c *Crash) String() string {
	return fmt.Sprintf("power cut behind call %d (%s), %s", c.Cut, c.Call, c.What)
}
