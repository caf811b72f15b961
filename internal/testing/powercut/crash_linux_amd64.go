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
	what string
	data func(n *node) []byte // of the file then
}

var (
	everything = reached{"all changes", (*node).latest}
	nothing    = reached{"no change", func(n *node) []byte { return n.data }}
	sizeAlone  = reached{"its size alone", (*node).sized}
)

// first is the changes before number i, and the first bytes of that one. If long is set, the file has the size after
// that change.
func first(i, bytes int, long bool) reached {
	what := fmt.Sprintf("%d changes and %d bytes of the next", i, bytes)
	if long {
		what += ", and its size"
	}
	return reached{what, func(n *node) []byte {
		data, c := n.after(n.changes[:i]), n.changes[i]
		if c.truncate && bytes == 0 {
			return data
		}
		data = slices.Clone(data)
		if end := c.at + int64(len(c.data)); long && !c.truncate && end > int64(len(data)) {
			data = resized(data, end)
		}
		return c.apply(data, bytes)
	}}
}

// without is all changes except number i.
func without(i int) reached {
	return reached{fmt.Sprintf("all changes but number %d", i), func(n *node) []byte {
		return n.after(slices.Delete(slices.Clone(n.changes), i, i+1))
	}}
}

// blocks are old or new, each as a seed decides.
func blocks(seed uint64) reached {
	return reached{"some blocks", func(n *node) []byte { return n.mixed(rand.New(rand.NewPCG(seed, 1))) }}
}

// latest returns the file's data as the program sees them.
func (n *node) latest() []byte { return n.after(n.changes) }

// after returns the synced data after some changes.
func (n *node) after(changes []change) []byte {
	if len(changes) == 0 {
		return n.data
	}
	data := slices.Clone(n.data)
	for _, c := range changes {
		data = c.apply(data, len(c.data))
	}
	return data
}

// sized returns the synced data at the size after all changes. Data cut off by a truncation are lost even if written
// again.
func (n *node) sized() []byte {
	data := n.data
	for _, c := range n.changes {
		if end := c.at + int64(len(c.data)); c.truncate {
			data = resized(data, c.length)
		} else if end > int64(len(data)) {
			data = resized(data, end)
		}
	}
	return data
}

// mixed takes each block either from before the changes or from after one of them.
func (n *node) mixed(rng *rand.Rand) []byte {
	old, now := n.data, n.latest()
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

// content returns the data of a file; one without changes is as it was.
func (c *Crash) content(n *node) []byte {
	if r, changed := c.data[n]; changed {
		return r.data(n)
	}
	return n.data
}

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
