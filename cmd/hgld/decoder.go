package main

import "hgld/internal/img"

// imageDecoder returns the decoder of trainings and evaluations, and which decodes JPEG: libjpeg-turbo
// where it is installed. Shards are made with the standard library's alone, and with libheif: unless they
// hold HEIC or AVIF, their bytes do not depend on what is installed.
func imageDecoder() (d *img.Decoder, which string, err error) {
	d, err = img.DefaultDecoder()
	if err != nil {
		return nil, "", withHint(withCode(exitUsage, err), "unset the variable")
	}
	return d, d.JPEGName(), nil
}
