package main

import (
	"fmt"

	"hgld/internal/img"
)

// imageDecoder returns the decoder of trainings and evaluations, JPEG by
// libjpeg-turbo where it is installed, and which that is. Shards are made with the
// standard library's alone: their bytes do not depend on what is installed.
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
