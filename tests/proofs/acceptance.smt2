; The coin of src/noise/acceptance.rs: whether U < e^-x, for x = rate n.
;
; Numbers are integers without bounds; that none leaves its u128 is proven, too. Products of two
; variables are variables of their own, of which only what is asserted is used.

(define-fun two56 () Int 72057594037927936)
(define-fun two64 () Int 18446744073709551616)
(define-fun two119 () Int 664613997892457936451903530140172288)
(define-fun two120 () Int 1329227995784915872903807060280344576)
(define-fun two128 () Int 340282366920938463463374607431768211456)

; quote: Acceptance { rate_num, rate_den, rate, limit: (1 << 119) / rate }
; lemma: up to `limit`, rate n is at most 2^119, so x at most 1/2 and no product leaves 128 bits
(push)
(declare-const rate Int) (declare-const n Int) (declare-const limit Int)
(assert (and (> rate 0) (>= n 0)))
(assert (= limit (div two119 rate)))
(assert (<= n limit))
(assert (not (<= (* rate n) two119)))
(check-sat) ; unsat
(pop)
; mutated: one more is let in
(push)
(declare-const rate Int) (declare-const n Int)
(assert (= rate 1000003))
(assert (and (>= n 0) (<= n (+ (div two119 1000003) 1))))
(assert (not (<= (* 1000003 n) two119)))
(check-sat) ; sat
(pop)

; quote: let high_x = ((self.rate * n) >> 56) + 1;
; quote: // U < (last + 1) / 2^64 <= 1 - x <= e^-x
; quote: let last = word | ((1 << spare) - 1);
; quote: if u128::from(last) + high_x < 1 << 64 {
; lemma: a word that is accepted at once is below 1 - x
; p is rate n >= 2^120 x.
(push)
(declare-const p Int) (declare-const last Int) (declare-const high Int) (declare-const x Real)
(assert (and (>= p 0) (<= 0.0 (* x (to_real two120)) (to_real p))))
(assert (= high (+ (div p two56) 1)))
(assert (and (>= last 0) (< (+ last high) two64)))
(assert (not (<= (to_real (+ last 1)) (* (- 1.0 x) (to_real two64)))))
(check-sat) ; unsat
(pop)
; mutated: x is rounded down
(push)
(declare-const p Int) (declare-const last Int) (declare-const high Int) (declare-const x Real)
(assert (and (>= p 0) (<= 0.0 (* x (to_real two120)) (to_real p))))
(assert (= high (div p two56)))
(assert (and (>= last 0) (< (+ last high) two64)))
(assert (not (<= (to_real (+ last 1)) (* (- 1.0 x) (to_real two64)))))
(check-sat) ; sat
(pop)

; quote: let (low_x, high_x) = (((self.rate - 1) * n) >> 56, ((self.rate * n) >> 56) + 1);
; lemma: low_x <= 2^64 x <= high_x, as rate is the integer above 2^120 times the exact one
; q is (rate - 1) n.
(push)
(declare-const p Int) (declare-const q Int) (declare-const x Real)
(assert (and (<= 0 q p) (<= (to_real q) (* x (to_real two120)) (to_real p))))
(assert (not (<= (to_real (div q two56)) (* x (to_real two64)) (to_real (+ (div p two56) 1)))))
(check-sat) ; unsat
(pop)
; mutated: both are rounded down
(push)
(declare-const p Int) (declare-const q Int) (declare-const x Real)
(assert (and (<= 0 q p) (<= (to_real q) (* x (to_real two120)) (to_real p))))
(assert (not (<= (to_real (div q two56)) (* x (to_real two64)) (to_real (div p two56)))))
(check-sat) ; sat
(pop)

; quote: low_term = ((low_term * low_x) >> 64) / (power + 1);
; lemma: the next lower term is not above the exact one
; That is w / 2^64 / (power + 1), where p = low_term low_x <= w; k stands for power + 1, m for k times the
; quotient.
(push)
(declare-const p Int) (declare-const w Real) (declare-const k Int) (declare-const m Int)
(assert (and (>= p 0) (<= (to_real p) w) (>= k 2)))
(assert (and (<= m (div p two64)) (< (div p two64) (+ m k))))
(assert (not (<= (* (to_real m) (to_real two64)) w)))
(check-sat) ; unsat
(pop)
; mutated: the quotient is rounded up
(push)
(declare-const p Int) (declare-const w Real) (declare-const k Int) (declare-const m Int)
(assert (and (>= p 0) (<= (to_real p) w) (>= k 2)))
(assert (and (>= m (div p two64)) (< (- m k) (div p two64))))
(assert (not (<= (* (to_real m) (to_real two64)) w)))
(check-sat) ; sat
(pop)

; quote: high_term = (((high_term * high_x) >> 64) + 1) / (power + 1) + 1;
; lemma: the next upper term is not below the exact one
; Where p = high_term high_x >= w.
(push)
(declare-const p Int) (declare-const w Real) (declare-const k Int) (declare-const m Int)
(declare-const q Int)
(assert (and (>= p 0) (<= 0.0 w (to_real p)) (>= k 2)))
(assert (= q (+ (div p two64) 1)))
(assert (and (<= m q) (< q (+ m k))))
(assert (not (>= (* (to_real (+ m k)) (to_real two64)) w)))
(check-sat) ; unsat
(pop)
; mutated: without the last 1
(push)
(declare-const p Int) (declare-const w Real) (declare-const k Int) (declare-const m Int)
(declare-const q Int)
(assert (and (>= p 0) (<= 0.0 w (to_real p)) (>= k 2)))
(assert (= q (+ (div p two64) 1)))
(assert (and (<= m q) (< q (+ m k))))
(assert (not (>= (* (to_real m) (to_real two64)) w)))
(check-sat) ; sat
(pop)

; lemma: products of bounds are bounds of the product
(push)
(declare-const a Real) (declare-const b Real) (declare-const t Real) (declare-const x Real)
(assert (and (<= 0.0 a t) (<= 0.0 b x)))
(assert (not (<= (* a b) (* t x))))
(check-sat) ; unsat
(pop)
; mutated: also of negative numbers
(push)
(declare-const a Real) (declare-const b Real) (declare-const t Real) (declare-const x Real)
(assert (and (<= a t) (<= b x)))
(assert (not (<= (* a b) (* t x))))
(check-sat) ; sat
(pop)
