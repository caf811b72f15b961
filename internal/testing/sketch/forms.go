package sketch

// drawings holds one function per entry of Forms.
var drawings = []func(*canvas, *place){
	church, castle, bridge, lighthouse, tower, museum, stadium, cemetery,
	mountain, lake, waterfall, island, park, ocean,
}

func church(c *canvas, s *place) {
	nave, spire := 0.3+0.15*s.a, 0.12+0.06*s.b
	top := 0.72 - nave
	c.rect(s.wall, 0.35, 0.72-nave*0.6, 0.45, nave*0.6)
	c.poly(s.roof, 0.33, 0.72-nave*0.6, 0.57, 0.72-nave*0.6-0.14, 0.82, 0.72-nave*0.6)
	c.rect(shade(s.wall, 0.9), 0.2, top, spire, nave)
	c.poly(s.roof, 0.18, top, 0.2+spire/2, top-0.2-0.12*s.c, 0.22+spire, top)
	for i := range s.n {
		x := 0.4 + 0.36*float64(i)/float64(s.n)
		c.rect(s.accent, x, 0.55, 0.03, 0.1)
	}
}

func castle(c *canvas, s *place) {
	w := 0.5 + 0.2*s.a
	left := 0.5 - w/2
	c.rect(s.wall, left, 0.5, w, 0.24)
	for i := range 5 {
		c.rect(s.wall, left+w*float64(i)/5, 0.46, w/9, 0.05)
	}
	h := 0.35 + 0.15*s.b
	for _, x := range []float64{left - 0.04, left + w - 0.08} {
		c.rect(shade(s.wall, 0.85), x, 0.74-h, 0.12, h)
		if s.c > 0.4 {
			c.poly(s.roof, x-0.02, 0.74-h, x+0.06, 0.6-h, x+0.14, 0.74-h)
		}
	}
	c.oval(s.accent, 0.5, 0.74, 0.06, 0.12, 0.5, 1)
}

func bridge(c *canvas, s *place) {
	c.rect(shade(s.sky, 0.7), -0.5, 0.66, 2, 0.8)
	c.rect(s.wall, -0.2, 0.5, 1.4, 0.07+0.03*s.a)
	n := s.n
	for i := range n + 1 {
		x := float64(i) / float64(n)
		c.rect(shade(s.wall, 0.8), x-0.025, 0.5, 0.05, 0.26)
		if i < n && s.b < 0.6 {
			c.oval(shade(s.wall, 0.9), x+0.5/float64(n), 0.6, 0.5/float64(n), 0.1, 0.5, 1)
			c.oval(shade(s.sky, 0.8), x+0.5/float64(n), 0.62, 0.36/float64(n), 0.09, 0.5, 1)
		}
	}
	if s.b >= 0.6 {
		for _, x := range []float64{0.25, 0.75} {
			c.rect(s.roof, x-0.02, 0.2, 0.04, 0.4)
			c.poly(s.accent, x, 0.22, x-0.3, 0.51, x-0.28, 0.51)
			c.poly(s.accent, x, 0.22, x+0.3, 0.51, x+0.28, 0.51)
		}
	}
}

func lighthouse(c *canvas, s *place) {
	c.rect(shade(s.sky, 0.6), -0.5, 0.7, 2, 0.8)
	c.oval(s.ground, 0.5, 0.76, 0.3, 0.1, 0.5, 1)
	base, h := 0.07+0.04*s.a, 0.45+0.15*s.b
	bands := s.n + 1
	for i := range bands {
		col := s.wall
		if i%2 == 1 {
			col = s.roof
		}
		y0, y1 := 0.72-h*float64(i)/float64(bands), 0.72-h*float64(i+1)/float64(bands)
		w0, w1 := base*(1-0.4*float64(i)/float64(bands)), base*(1-0.4*float64(i+1)/float64(bands))
		c.poly(col, 0.5-w0, y0, 0.5+w0, y0, 0.5+w1, y1, 0.5-w1, y1)
	}
	c.rect(s.accent, 0.46, 0.72-h-0.06, 0.08, 0.06)
	c.poly(s.roof, 0.44, 0.66-h, 0.5, 0.6-h, 0.56, 0.66-h)
}

func tower(c *canvas, s *place) {
	w, h := 0.08+0.06*s.a, 0.6+0.1*s.b
	c.poly(s.wall, 0.5-w*1.4, 0.76, 0.5+w*1.4, 0.76, 0.5+w*0.6, 0.76-h, 0.5-w*0.6, 0.76-h)
	c.rect(s.roof, 0.5-w*1.3, 0.76-h*0.8, w*2.6, 0.05)
	for i := range s.n {
		c.rect(s.accent, 0.49, 0.72-h*0.7*float64(i)/float64(s.n), 0.02, 0.04)
	}
	c.rect(s.roof, 0.495, 0.68-h, 0.01, 0.1)
}

func museum(c *canvas, s *place) {
	w, h := 0.6+0.2*s.a, 0.25+0.08*s.b
	left := 0.5 - w/2
	c.rect(s.wall, left, 0.74-h, w, h)
	c.poly(s.roof, left-0.03, 0.74-h, 0.5, 0.6-h-0.06*s.c, left+w+0.03, 0.74-h)
	columns := s.n + 2
	for i := range columns {
		c.rect(shade(s.wall, 1.3), left+w*(float64(i)+0.3)/float64(columns), 0.76-h, w*0.4/float64(columns), h-0.04)
	}
	c.rect(s.accent, left-0.04, 0.72, w+0.08, 0.03)
}

func stadium(c *canvas, s *place) {
	rx, ry := 0.38+0.06*s.a, 0.2+0.05*s.b
	c.oval(s.wall, 0.5, 0.58, rx, ry, 0, 1)
	c.oval(shade(s.wall, 0.7), 0.5, 0.56, rx*0.85, ry*0.8, 0, 1)
	c.oval(hsl(0.3+0.06*s.c, 0.6, 0.4), 0.5, 0.57, rx*0.6, ry*0.55, 0, 1)
	for i := range s.n {
		x := 0.5 - rx + 2*rx*(float64(i)+0.5)/float64(s.n)
		c.rect(s.accent, x, 0.25, 0.012, 0.2)
		c.rect(s.roof, x-0.03, 0.23, 0.07, 0.04)
	}
}

func cemetery(c *canvas, s *place) {
	for row := range 3 {
		n := s.n + row
		for i := range n {
			x, y, h := (float64(i)+0.5+0.3*s.a)/float64(n), 0.6+0.12*float64(row), 0.09+0.03*float64(row)
			c.rect(shade(s.wall, 1-0.1*float64(row)), x-0.025, y-h, 0.05, h)
			if s.b < 0.5 {
				c.oval(shade(s.wall, 1-0.1*float64(row)), x, y-h, 0.025, 0.03, 0.5, 1)
			} else {
				c.rect(shade(s.wall, 0.9), x-0.05, y-h+0.02, 0.1, 0.02)
			}
		}
	}
	c.poly(s.roof, 0.05, 0.55, 0.1, 0.2+0.2*s.c, 0.15, 0.55)
}

func mountain(c *canvas, s *place) {
	peak := 0.12 + 0.2*s.a
	c.poly(shade(s.wall, 0.6), -0.3, 0.75, 0.15+0.2*s.b, peak+0.15, 0.7, 0.75)
	c.poly(shade(s.wall, 0.75), 0.1, 0.75, 0.55+0.1*s.c, peak, 1.2, 0.75)
	x, y := 0.55+0.1*s.c, peak
	c.poly(hsl(0.6, 0.1, 0.95), x, y, x+0.14, y+0.14, x+0.05, y+0.11, x-0.02, y+0.17, x-0.09, y+0.13)
	for i := range s.n {
		t := 0.05 + float64(i)/float64(s.n)
		c.poly(s.roof, t, 0.8, t+0.03, 0.68, t+0.06, 0.8)
	}
}

func lake(c *canvas, s *place) {
	c.poly(shade(s.roof, 0.7), -0.2, 0.55, 0.2*s.a+0.1, 0.4, 0.6, 0.52, 0.9, 0.38+0.08*s.b, 1.3, 0.55)
	water := hsl(0.52+0.14*s.c, 0.5, 0.45)
	c.oval(water, 0.5, 0.72, 0.42+0.1*s.a, 0.14+0.04*s.b, 0, 1)
	for i := range s.n {
		c.rect(shade(water, 1.35), 0.25+0.4*float64(i)/float64(s.n), 0.66+0.03*float64(i%4), 0.14, 0.008)
	}
	c.oval(s.accent, 0.3+0.4*s.b, 0.7, 0.03, 0.015, 0, 1)
}

func waterfall(c *canvas, s *place) {
	c.rect(shade(s.wall, 0.6), -0.5, 0.25+0.1*s.a, 2, 0.9)
	x, w := 0.35+0.2*s.b, 0.08+0.14*s.c
	c.poly(hsl(0.55, 0.3, 0.9), x, 0.25+0.1*s.a, x+w, 0.25+0.1*s.a, x+w*1.3, 0.8, x-w*0.3, 0.8)
	for i := range s.n {
		c.rect(hsl(0.55, 0.4, 0.75), x+w*float64(i)/float64(s.n), 0.3+0.1*s.a, 0.01, 0.45)
	}
	c.oval(hsl(0.53, 0.5, 0.5), x+w/2, 0.84, 0.3, 0.08, 0, 1)
	c.poly(s.roof, -0.1, 0.26+0.1*s.a, 0.1, 0.12+0.1*s.a, 0.3, 0.26+0.1*s.a)
}

func island(c *canvas, s *place) {
	sea := hsl(0.5+0.12*s.a, 0.6, 0.4)
	c.rect(sea, -0.5, 0.55, 2, 0.9)
	c.oval(s.ground, 0.5, 0.68, 0.26+0.12*s.b, 0.1, 0.5, 1)
	c.oval(hsl(0.13, 0.5, 0.75), 0.5, 0.68, 0.3+0.12*s.b, 0.04, 0, 1)
	for i := range s.n {
		x := 0.32 + 0.36*float64(i)/float64(s.n)
		c.rect(shade(s.roof, 0.6), x, 0.48, 0.015, 0.14)
		c.oval(s.roof, x+0.008, 0.47, 0.06, 0.035+0.03*s.c, 0, 1)
	}
}

func park(c *canvas, s *place) {
	c.rect(hsl(0.26+0.08*s.a, 0.5, 0.4), -0.5, 0.6, 2, 0.9)
	c.poly(hsl(0.1, 0.3, 0.7), 0.45, 1.1, 0.7, 1.1, 0.5+0.1*s.b, 0.6, 0.48+0.1*s.b, 0.6)
	for i := range s.n + 1 {
		x := 0.08 + 0.9*float64(i)/float64(s.n+1)
		y := 0.62 + 0.1*float64(i%3)
		c.rect(hsl(0.08, 0.4, 0.3), x-0.015, y-0.12, 0.03, 0.12)
		c.oval(s.roof, x, y-0.2, 0.07+0.03*s.c, 0.11, 0, 1)
	}
	c.rect(s.accent, 0.75, 0.78, 0.12, 0.03)
}

func ocean(c *canvas, s *place) {
	sea := hsl(0.5+0.15*s.a, 0.6, 0.35)
	c.rect(sea, -0.5, 0.45, 2, 0.9)
	for i := range s.n + 3 {
		y := 0.5 + 0.07*float64(i)
		c.poly(shade(sea, 1.5), -0.1, y, 0.3+0.3*s.b, y-0.02, 1.1, y, 0.3+0.3*s.b, y+0.005)
	}
	c.oval(s.accent, 0.2+0.6*s.c, 0.3, 0.07, 0.07, 0, 1)
}
