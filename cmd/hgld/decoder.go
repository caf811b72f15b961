package main

import (
	"fmt"

	"hgld/internal/img"
)

// imageDecoder returns the decoder for training and evaluation, and its name. It decodes
// JPEG with libjpeg-turbo where that is installed. Shards are built with the standard
// library alone, so their bytes do not depend on what is installed.
func imageDecoder() (d *img.Decoder, which string, err error) {
	lib, err := img.DefaultJPEG()
	if err != nil {
		return nil, "", withHint(withCode(exitUsage, err), "unset %s", img.JPEGVariable)
	}
	if lib == nil {
		return new(img.Decoder), "image/jpeg", nil
	}
	return &img.Decoder{JPEG: lib}, fmt.Sprint(lib), nil
}
