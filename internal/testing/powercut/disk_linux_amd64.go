// Package powercut simulates what a file system may hold after a power failure during a
// program's work. It replays a trace of the program (iotrace). At every point of the trace it
// constructs the folders that the program may find when it starts again. Only tests use it.
//
// The model is limited to what POSIX promises and what file systems were found to keep (Pillai
// et al., "All File Systems Are Not Created Equal", OSDI 2014, which calls the tool ALICE;
// Mohan et al., "Finding Crash-Consistency Bugs with Bounded Black-Box Crash Testing", OSDI
// 2018):
//
//   - fsync and fdatasync of a file make its data and its size durable, and nothing
//     else: not the name of a new file in its folder.
//   - fsync of a folder makes the names in it durable. Changes of names in one folder
//     reach the disk in order. Those in different folders reach it in any order.
//   - A rename is atomic, even between folders.
//   - Unsynced changes may or may not have reached the disk: names before data, data
//     before names, later writes before earlier ones, a write to its first bytes or to
//     any of its blocks, and a new size without the data, which then reads as zeros.
//
// Changes through shared memory are not simulated. SQLite writes its .db-shm this way, but
// rebuilds it when it opens the database.
package powercut

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"hgld/internal/testing/iotrace"
)

// node is a file, a folder or a symbolic link. data and names are certain to be on the disk.
// Later changes are in changes and in disk.moves.
type node struct {
	mode fs.FileMode
	link string

	data    []byte
	changes []change

	names map[string]*node // entries of a folder on the disk
	now   map[string]*node // entries of a folder as the program sees them
}

// change is a write, or a truncation to a length.
type change struct {
	at       int64
	data     []byte
	truncate bool
	length   int64
}

// apply applies a truncation, or the first bytes of a write, to data.
func (c change) apply(data []byte, bytes int) []byte {
	if c.truncate {
		return resized(data, c.length)
	}
	part := c.data[:bytes]
	if end := c.at + int64(len(part)); end > int64(len(data)) {
		data = resized(data, end)
	}
	copy(data[c.at:], part)
	return data
}

// resized returns a copy of data with length n.
func resized(data []byte, n int64) []byte {
	out := make([]byte, n)
	copy(out, data)
	return out
}

// move is one atomic change of names: a creation, a rename or a removal. It has one part per
// name.
type move []name

// name is the new target of a name in a folder, or nil if the name is removed.
type name struct {
	folder *node
	name   string
	to     *node
}

func (m move) touches(folder *node) bool {
	for _, n := range m {
		if n.folder == folder {
			return true
		}
	}
	return false
}

// disk is the state of a file system at one point of a trace.
type disk struct {
	at     string // the traced folder
	root   *node
	inodes map[uint64]*node
	moves  []move // not synced yet
}

func newFolder(mode fs.FileMode) *node {
	return &node{mode: fs.ModeDir | mode, names: map[string]*node{}, now: map[string]*node{}}
}

// newDisk reads the folder dir. Its whole content counts as durable.
func newDisk(dir string) (*disk, error) {
	d := &disk{at: dir, inodes: map[uint64]*node{}}
	root, err := d.read(dir)
	d.root = root
	return d, err
}

func (d *disk) read(path string) (*node, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		link, err := os.Readlink(path)
		return &node{mode: fs.ModeSymlink, link: link}, err
	}
	if !info.IsDir() {
		data, err := os.ReadFile(path)
		return &node{mode: info.Mode().Perm(), data: data}, err
	}
	folder := newFolder(info.Mode().Perm())
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		n, err := d.read(filepath.Join(path, e.Name()))
		if err != nil {
			return nil, err
		}
		folder.names[e.Name()], folder.now[e.Name()] = n, n
	}
	return folder, nil
}

// find returns the node at path, with the folder and the name of its entry. The node may not
// exist.
func (d *disk) find(path string) (n, folder *node, base string) {
	rel := strings.TrimPrefix(strings.TrimPrefix(path, d.at), "/")
	if rel == "" {
		return d.root, nil, ""
	}
	folder = d.root
	parts := strings.Split(rel, "/")
	for _, p := range parts[:len(parts)-1] {
		if folder = folder.now[p]; folder == nil || folder.now == nil {
			return nil, nil, ""
		}
	}
	base = parts[len(parts)-1]
	return folder.now[base], folder, base
}

// file returns the node of a call's descriptor.
func (d *disk) file(op iotrace.Op) *node {
	if n := d.inodes[op.Inode]; n != nil && op.Inode != 0 {
		return n
	}
	n, _, _ := d.find(op.Path)
	return n
}

// move records a change of names.
func (d *disk) move(parts ...name) {
	for _, n := range parts {
		setName(n.folder.now, n)
	}
	d.moves = append(d.moves, parts)
}

// do applies the next call of the trace. It reports whether the call changed anything.
func (d *disk) do(op iotrace.Op) bool {
	switch op.Kind {
	case iotrace.Open:
		return d.open(op)
	case iotrace.Write:
		return d.change(op, change{at: op.Offset, data: op.Data})
	case iotrace.Truncate:
		return d.change(op, change{truncate: true, length: op.Length})
	case iotrace.Allocate:
		return d.allocate(op)
	case iotrace.Sync, iotrace.SyncData:
		d.sync(d.file(op))
	case iotrace.Mkdir:
		_, folder, base := d.find(op.Path)
		d.move(name{folder, base, newFolder(fs.FileMode(op.Mode) & fs.ModePerm)})
	case iotrace.Symlink:
		_, folder, base := d.find(op.Path)
		d.move(name{folder, base, &node{mode: fs.ModeSymlink, link: op.To}})
	case iotrace.Link:
		n, _, _ := d.find(op.Path)
		_, folder, base := d.find(op.To)
		d.move(name{folder, base, n})
	case iotrace.Rename: // both paths are inside the folder: Record lists no others
		n, from, base := d.find(op.Path)
		_, to, next := d.find(op.To)
		d.move(name{from, base, nil}, name{to, next, n})
	case iotrace.Remove:
		_, folder, base := d.find(op.Path)
		d.move(name{folder, base, nil})
	case iotrace.Chmod:
		if n := d.file(op); n != nil { // takes effect at once, since no test depends on it
			n.mode = n.mode.Type() | fs.FileMode(op.Flags)&fs.ModePerm
		}
		return false
	default:
		return false
	}
	return true
}

func (d *disk) open(op iotrace.Op) bool {
	n, folder, base := d.find(op.Path)
	if op.Created || n == nil && op.Flags&unix.O_CREAT != 0 {
		n = &node{mode: fs.FileMode(op.Mode) & fs.ModePerm}
		d.move(name{folder, base, n})
	}
	if n == nil {
		return false
	}
	d.inodes[op.Inode] = n
	if op.Flags&unix.O_TRUNC != 0 && !op.Created {
		n.changes = append(n.changes, change{truncate: true})
		return true
	}
	return op.Created
}

func (d *disk) change(op iotrace.Op, c change) bool {
	n := d.file(op)
	if n == nil {
		return false
	}
	n.changes = append(n.changes, c)
	return true
}

// allocate records a change if the call extends the file.
func (d *disk) allocate(op iotrace.Op) bool {
	n := d.file(op)
	if end := op.Offset + op.Length; n != nil && op.Flags == 0 && end > int64(len(n.latest())) {
		return d.change(op, change{truncate: true, length: end})
	}
	return false
}

// sync makes a file's data or a folder's names durable.
func (d *disk) sync(n *node) {
	switch {
	case n == nil:
	case n.now == nil:
		n.data, n.changes = n.latest(), nil
	default:
		var rest []move
		keep := d.closed(func(i int) bool { return d.moves[i].touches(n) })
		for i, m := range d.moves {
			if !keep[i] {
				rest = append(rest, m)
				continue
			}
			for _, p := range m {
				setName(p.folder.names, p)
			}
		}
		d.moves = rest
	}
}

func setName(names map[string]*node, n name) {
	if n.to == nil {
		delete(names, n.name)
	} else {
		names[n.name] = n.to
	}
}

// closed returns which moves reach the disk if take selects some of them. Earlier moves in the
// same folders must reach it too.
func (d *disk) closed(take func(i int) bool) []bool {
	in := make([]bool, len(d.moves))
	due := map[*node]bool{} // folders whose earlier moves are all included
	for i := len(d.moves) - 1; i >= 0; i-- {
		in[i] = take(i)
		for _, p := range d.moves[i] {
			in[i] = in[i] || due[p.folder]
		}
		if in[i] {
			for _, p := range d.moves[i] {
				due[p.folder] = true
			}
		}
	}
	return in
}
