package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// AddressesError says that the column of paths holds addresses of images that are not saved in the folder.
type AddressesError struct {
	Table   string // name of the table
	Column  string // of the addresses
	Example string // the first address
	Folder  string // of the images
	Local   string // a column with paths of files in Folder, or ""
}

// Error quotes the first address, and names the column and the folder.
func (e *AddressesError) Error() string {
	return fmt.Sprintf("%s: column %s holds addresses of images, such as %.80q, but none of the first ones is a file "+
		"in %s; images are not downloaded", e.Table, e.Column, e.Example, e.Folder)
}

// addressesRead is how many rows decide whether a column holds addresses.
const addressesRead = 100

// checkAddresses returns an [AddressesError] if the first paths are all addresses, and no image is saved under the last
// part of one. Faults of the table are reported when the rows are imported.
func (src *csvSource) checkAddresses(ctx context.Context, header []string) error {
	f, r, _, err := src.open()
	if err != nil {
		return err
	}
	defer f.Close()
	e := &AddressesError{Table: src.base(), Column: header[src.columns.path], Folder: src.images}
	find := func(cell string) error {
		if cell == "" {
			return fs.ErrNotExist
		}
		_, err := src.store.find(src.imagePath(cell))
		return err
	}
	for range addressesRead {
		record, err := r.Read()
		if err != nil {
			break
		}
		name, address := imageName(record[src.columns.path])
		if address == "" || !errors.Is(find(name), fs.ErrNotExist) {
			return ctx.Err()
		}
		if e.Example == "" {
			e.Example = address
		}
		for i, cell := range record {
			if e.Local == "" && i != src.columns.path && find(cell) == nil {
				e.Local = header[i]
			}
		}
	}
	if e.Example == "" {
		return ctx.Err()
	}
	return e
}
