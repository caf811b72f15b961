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

// blockSize is the smallest unit that a disk writes atomically.
const blockSize = 512

// reached describes which of a file's changes are on the disk.
type reached struct {
	what  int // index or number of changes; see the kinds below
	bytes int // number of bytes of the next change
	kind  reachedKind
	rng   uint64
}

type reachedKind uint8

const (
	everything reachedKind = iota
	nothing
	sizeAlone // the size without the data
	first     // the changes before number what, and the first bytes of that one
	firstLong // as first, with the size after that change
	without   // all changes except number what
	blocks    // each block is old or new, as rng decides
)

var all = reached{kind: everything}

// content returns the file's data if this much of it has reached the disk.
func (n *node) content(r reached) []byte {
	data := n.data
	switch r.kind {
	case nothing:
		return data
	case sizeAlone: // data cut off by a truncation is lost even if written again
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

// mixed takes each block either from before the changes or from after one of them.
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

// Crash is one possible content of a file system after a power cut.
type Crash struct {
	Cut  int    // number of calls before the cut
	Call string // the last of these calls
	What string // what has reached the disk

	// Acknowledged is the content of the file Acknowledgements at the cut.
	Acknowledged string

	key  uint64
	disk *disk
	in   []bool // whether each move has reached the disk
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

// walk calls visit for everything below the root. A folder precedes its contents.
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

// Restore writes the simulated folder into dir, which must be empty.
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

// sum returns a hash that distinguishes different folders.
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

// String describes the time of the power cut and what has reached the disk.
func (c *Crash) String() string {
	return fmt.Sprintf("power cut behind call %d (%s), %s", c.Cut, c.Call, c.What)
}
