package main

import "hgld/internal/img"

// imageDecoder returns the decoder for training and evaluation, and its name. It decodes
// JPEG with libjpeg-turbo where that is installed. Shards are built with the standard
// library, libheif for HEIC and AVIF, and libjpeg-turbo for JPEG that the standard library
// refuses. Without such images, their bytes do not depend on what is installed.
func imageDecoder() (d *img.Decoder, which string, err error) {
	d, err = img.DefaultDecoder()
	if err != nil {
		return nil, "", withHint(withCode(exitUsage, err), "unset the variable")
	}
	return d, d.JPEGName(), nil
}
