//go:build clib

package main

// #include <stdlib.h>
// #include "hgld.h"
import "C"

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"hgld/labels"
	"hgld/shards"
	"hgld/train/input"
	"hgld/train/python/call"
	"hgld/train/selection"
)

// images are opened images of shards with their labels.
type images struct {
	data    *selection.Data
	set     input.Dataset
	paths   []labels.Path // with classes numbered from 0
	classes [][]string    // names by level and number

	numbering string // which numbering of classes this is
}

var folders handles[*images]

// chosen selects images. It is read from JSON.
type chosen struct {
	Folder  string   `json:"folder"`        // of shards
	Splits  []string `json:"splits"`        // such as train
	HoldOut float64  `json:"hold_out"`      // share of the finest classes that are held out
	Seed    uint64   `json:"hold_out_seed"` // chooses them
	Held    bool     `json:"held"`          // the held-out classes instead of the others
}

func openImages(spec []byte) (*images, error) {
	var c chosen
	if err := json.Unmarshal(spec, &c); err != nil {
		return nil, fmt.Errorf("the selection is no JSON of the expected form: %w", err)
	}
	s := selection.Images{Data: c.Folder, Splits: c.Splits, HoldOut: c.HoldOut, HoldOutSeed: c.Seed}
	if c.Held && c.HoldOut == 0 {
		return nil, fmt.Errorf("no classes are held out: hold_out is 0")
	}
	var folder splitSet
	d, err := s.Open(selection.Opener{Shards: func(path string) (selection.Set, error) {
		set, err := shards.Open(context.Background(), path)
		folder.Set = set
		return folder, err
	}})
	if err != nil {
		return nil, err
	}
	m := &images{data: d, set: d.Train}
	if c.Held {
		m.set = d.Validation
	}
	if err := m.number(&c, folder); err != nil {
		d.Close()
		return nil, err
	}
	return m, nil
}

// number numbers the classes of the folder. Those to train on are the first: the selected ones, or those of the split
// train if that is not selected.
func (m *images) number(c *chosen, folder splitSet) error {
	train, held := m.data.Train, m.data.Validation
	own := c.HoldOut > 0 || slices.Contains(c.Splits, string(labels.Train))
	if !own && slices.Contains(folder.Manifest().Splits(), labels.Train) {
		all, err := folder.Split(labels.Train)
		if err != nil {
			return err
		}
		train = all
	} else if !own {
		train = nil
	}
	var lists [3][]labels.Path
	for i, set := range []input.Dataset{m.set, train, held} {
		if set == nil {
			continue
		}
		var err error
		if lists[i], err = input.Paths(set); err != nil {
			return err
		}
	}
	var names [][]string
	for level := range m.set.Levels() {
		names = append(names, m.set.Classes(level))
	}
	numbering := call.NewNumbering(names, lists[1], lists[2])
	m.paths, m.classes, m.numbering = numbering.Labels(lists[0]), numbering.Names, numbering.ID()
	if own && !c.Held {
		for level, first := range numbering.First {
			m.classes[level] = m.classes[level][:first]
		}
	}
	return nil
}

// splitSet adapts a set of shards to selection.Set.
type splitSet struct{ *shards.Set }

// Split implements selection.Set.
func (s splitSet) Split(name labels.Split) (input.Dataset, error) {
	v, err := s.Set.Split(name)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// row returns the images with a handle, after it has checked a row.
func row(h C.hgld_shards, at C.int64_t) (*images, int, error) {
	m, err := folders.get(uint64(h))
	if err == nil && (at < 0 || int64(at) >= int64(len(m.paths))) {
		err = fmt.Errorf("there is no image %d of %d", int64(at), len(m.paths))
	}
	return m, int(at), err
}

//export hgld_shards_open
func hgld_shards_open(spec *C.char, to *C.hgld_shards, failure **C.char) C.int {
	return try(failure, func() error {
		m, err := openImages([]byte(C.GoString(spec)))
		if err == nil {
			*to = C.hgld_shards(folders.add(m))
		}
		return err
	})
}

//export hgld_shards_close
func hgld_shards_close(h C.hgld_shards) {
	if m, err := folders.get(uint64(h)); err == nil {
		folders.remove(uint64(h))
		m.data.Close()
	}
}

//export hgld_shards_describe
func hgld_shards_describe(h C.hgld_shards, to, failure **C.char) C.int {
	return try(failure, func() error {
		m, err := folders.get(uint64(h))
		if err != nil {
			return err
		}
		return text(to, map[string]any{"images": len(m.paths), "levels": m.set.Levels(), "classes": m.classes,
			"numbering": m.numbering}, nil)
	})
}

//export hgld_shards_labels
func hgld_shards_labels(h C.hgld_shards, to *C.int32_t, n C.int64_t, failure **C.char) C.int {
	return try(failure, func() error {
		m, err := folders.get(uint64(h))
		if err != nil {
			return err
		}
		all := slices.Concat(m.paths...)
		if int64(n) != int64(len(all)) {
			return fmt.Errorf("there is room for %d labels, want %d", int64(n), len(all))
		}
		copy(numbers(to, len(all)), all)
		return nil
	})
}

//export hgld_shards_image
func hgld_shards_image(h C.hgld_shards, at C.int64_t, data *unsafe.Pointer, size *C.int64_t, failure **C.char) C.int {
	return try(failure, func() error {
		m, i, err := row(h, at)
		if err != nil {
			return err
		}
		file, err := m.set.Image(context.Background(), i)
		if err != nil {
			return err
		}
		*data, *size = C.CBytes(file), C.int64_t(len(file))
		return nil
	})
}

//export hgld_shards_id
func hgld_shards_id(h C.hgld_shards, at C.int64_t, id, failure **C.char) C.int {
	return try(failure, func() error {
		m, i, err := row(h, at)
		if err == nil {
			*id = C.CString(m.set.ID(i))
		}
		return err
	})
}

//export hgld_batches
func hgld_batches(spec *C.char, classes *C.int32_t, rows, levels C.int64_t, seed C.uint64_t, epoch C.int64_t,
	to, failure **C.char) C.int {
	return try(failure, func() error {
		if rows < 1 || levels < 1 || rows > math.MaxInt32 || levels > math.MaxInt32 {
			return fmt.Errorf("there are %d rows of %d levels, want 1 to %d of each", int64(rows), int64(levels), math.MaxInt32)
		}
		list := slices.Clone(numbers(classes, int(rows*levels)))
		batches, err := call.Batches([]byte(C.GoString(spec)), list, int(levels), uint64(seed), int(epoch))
		return text(to, batches, err)
	})
}
