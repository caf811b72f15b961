package atomicfile

import "io"

// Content is a file that WriteAll writes.
type Content struct {
	// Path is the file to replace.
	Path string

	// Fill writes the new content.
	Fill func(io.Writer) error
}

// WriteAll replaces several files. It replaces none before the contents of all are complete.
func WriteAll(list []Content) error {
	var files []*File
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	for _, c := range list {
		f, err := Create(c.Path)
		if err != nil {
			return err
		}
		files = append(files, f)
		if err := c.Fill(f); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := f.Commit(); err != nil {
			return err
		}
	}
	return nil
}
