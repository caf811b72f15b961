package img

import "os"

// Library describes an image library on this machine.
type Library struct {
	Name   string // of the format
	OK     bool   // nothing is missing
	Text   string // which one it is, or why there is none
	Advice string // what to do; "" for nothing
}

// Libraries describes the results of DefaultJPEG and DefaultHEIF.
func Libraries() []Library {
	jpeg, jpegErr := DefaultJPEG()
	heif, heifErr := DefaultHEIF()
	advice := func(variable string, missing bool, err error, install string) string {
		switch {
		case err != nil:
			return "unset " + variable
		case missing && os.Getenv(variable) == "":
			return install
		}
		return ""
	}
	return []Library{
		{"jpeg", jpegErr == nil, WhichJPEG(), advice(JPEGVariable, jpeg == nil, jpegErr,
			"install libturbojpeg0 (Debian), libturbojpeg (Ubuntu), turbojpeg (Fedora) or jpeg-turbo (Homebrew)")},
		{"heic", heif != nil, WhichHEIF(), advice(HEIFVariable, heif == nil, heifErr,
			"needed for photographs of phones: "+HEIFPackages)},
	}
}
