package tensorfile

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"hgld/internal/budget"
	"hgld/internal/regular"
)

// NPZ is an open .npz file, as numpy.savez and savez_compressed write it: a zip archive with a .npy
// file for each array.
type NPZ struct {
	// Arrays are the arrays in the order of the archive, without data.
	Arrays []Tensor

	// Unread are the members that hold no array of numbers or texts, with what is wrong.
	Unread []error

	members map[string]*zip.File // by name of the array
	size    int64                // of the archive
	file    *os.File
}

// OpenNPZ opens an archive and reads the headers of its arrays. The caller closes it.
func OpenNPZ(path string) (*NPZ, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	z := &NPZ{file: f, members: map[string]*zip.File{}}
	info, err := f.Stat()
	if err == nil {
		err = z.index(f, info.Size())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return z, nil
}

// Close closes the file.
func (z *NPZ) Close() error { return z.file.Close() }

// index lists the arrays of an archive of size bytes.
func (z *NPZ) index(r io.ReaderAt, size int64) error {
	z.size = size
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return &FormatError{Format: "npz", Reason: fmt.Sprintf("the zip archive is cut or damaged: %v", err)}
	}
	if n := len(archive.File); n > budget.Tensors {
		return &FormatError{Format: "npz", Reason: fmt.Sprintf("it has %d members, want at most %d", n, budget.Tensors)}
	}
	for _, m := range archive.File {
		name := strings.TrimSuffix(m.Name, ".npy")
		if z.members[name] != nil {
			return &FormatError{Format: "npz", Tensor: name, Reason: "it is there twice"}
		}
		head, err := z.content(m, 12+npyHeaderCap)
		if err != nil {
			return &FormatError{Format: "npz", Tensor: name, Reason: err.Error()}
		}
		a, err := readNPY(source{at: bytes.NewReader(head), size: int64(m.UncompressedSize64)})
		if err != nil {
			z.Unread = append(z.Unread, fmt.Errorf("%.80q: %w", name, err))
			continue
		}
		z.members[name] = m
		z.Arrays = append(z.Arrays, Tensor{Name: name, DType: a.DType, Shape: a.Shape})
	}
	return nil
}

// Tensor reads an array.
func (z *NPZ) Tensor(name string) (Tensor, error) {
	m := z.members[name]
	if m == nil {
		return Tensor{}, fmt.Errorf("npz: no array is called %.80q", name)
	}
	bad := func(format string, args ...any) error {
		return &FormatError{Format: "npz", Tensor: name, Reason: fmt.Sprintf(format, args...)}
	}
	size := int64(m.UncompressedSize64)
	if most := max(budget.Page, budget.Expansion*z.size); size < 0 || size > most {
		return Tensor{}, bad("it has %d bytes, want at most %d in an archive of %d", m.UncompressedSize64, most, z.size)
	}
	data, err := z.content(m, size)
	if err != nil {
		return Tensor{}, bad("%v", err)
	}
	if int64(len(data)) != size {
		return Tensor{}, bad("%d bytes, want %d", len(data), size)
	}
	a, err := readNPY(source{mem: data, size: size})
	if err == nil {
		err = a.arrange()
	}
	if err != nil {
		return Tensor{}, bad("%v", err)
	}
	t, err := a.Tensor()
	t.Name = name
	return t, err
}

// content returns the first bytes of a member, at most most. The zip reader compares the checksum of
// a member that is read to its end.
func (z *NPZ) content(m *zip.File, most int64) ([]byte, error) {
	f, err := m.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var data bytes.Buffer
	_, err = io.CopyN(&data, f, most)
	if err == io.EOF {
		return data.Bytes(), nil
	}
	if err == nil && uint64(most) == m.UncompressedSize64 {
		_, err = io.Copy(io.Discard, f) // the checksum
	}
	return data.Bytes(), err
}
