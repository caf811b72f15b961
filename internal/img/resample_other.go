//go:build !amd64

package img

func (r *Resampler) acrossFast(dst, src view, from int, t *Taps) bool { return false }

func (r *Resampler) downFast(dst, src view, from int, t *Taps) bool { return false }
