package index

import (
	"context"

	"hgld/labels"
)

// single is a data set of one image.
type single struct {
	name string
	data []byte
}

// Len returns 1.
func (s single) Len() int { return 1 }

// Levels returns no levels.
func (s single) Levels() []string { return nil }

// Classes returns no classes.
func (s single) Classes(int) []string { return nil }

// Labels returns no labels.
func (s single) Labels(int) labels.Path { return nil }

// Image returns the file.
func (s single) Image(context.Context, int) ([]byte, error) { return s.data, nil }

// ID returns the name.
func (s single) ID(int) string { return s.name }
