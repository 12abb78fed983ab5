; The table of src/noise/table.rs: thresholds T(i) within 1 of 2^63 F(i), and what they decide.

; quote: pub(super) const WORD_BITS: u32 = 63;
; quote: const GUIDE_BITS: u32 = 10;
; quote: const PLACES: u32 = 120;
; quote: let (low, high) = a.carrying_mul(b, 0);
; quote: high << (128 - PLACES) | low >> PLACES
; lemma: product(a, b) is floor(a b / 2^120) where a b < 2^248
; ab is the product, of 256 bits.
(push)
(declare-const ab (_ BitVec 256))
(define-fun high () (_ BitVec 128) ((_ extract 255 128) ab))
(define-fun low () (_ BitVec 128) ((_ extract 127 0) ab))
(assert (bvult ab (bvshl (_ bv1 256) (_ bv248 256))))
(assert (not (= ((_ zero_extend 128) (bvor (bvshl high (_ bv8 128)) (bvlshr low (_ bv120 128))))
                (bvlshr ab (_ bv120 256)))))
(check-sat) ; unsat
(pop)
; mutated: of larger products
(push)
(declare-const ab (_ BitVec 256))
(define-fun high () (_ BitVec 128) ((_ extract 255 128) ab))
(define-fun low () (_ BitVec 128) ((_ extract 127 0) ab))
(assert (not (= ((_ zero_extend 128) (bvor (bvshl high (_ bv8 128)) (bvlshr low (_ bv120 128))))
                (bvlshr ab (_ bv120 256)))))
(check-sat) ; sat
(pop)

; quote: Fixed { low: product(self.low, other.low), error: self.error + other.error + 1 }
; lemma: low <= 2^120 v <= low + error stays so for products of numbers up to 1
; In units of 1: a <= A <= a + d, b <= B <= b + e; f is the floor of a b, u = 2^-120
(push)
(declare-const a Real) (declare-const A Real) (declare-const b Real) (declare-const B Real)
(declare-const d Real) (declare-const e Real) (declare-const f Real) (declare-const u Real)
(assert (and (<= 0.0 a A (+ a d)) (<= A 1.0) (<= 0.0 b B (+ b e)) (<= B 1.0) (> u 0.0)))
(assert (and (<= f (* a b)) (< (* a b) (+ f u))))
(assert (not (<= f (* A B) (+ f d e u))))
(check-sat) ; unsat
(pop)
; mutated: without the last place
(push)
(declare-const a Real) (declare-const A Real) (declare-const b Real) (declare-const B Real)
(declare-const d Real) (declare-const e Real) (declare-const f Real) (declare-const u Real)
(assert (and (<= 0.0 a A (+ a d)) (<= A 1.0) (<= 0.0 b B (+ b e)) (<= B 1.0) (> u 0.0)))
(assert (and (<= f (* a b)) (< (* a b) (+ f u))))
(assert (and (= d 0.0) (= e 0.0)))
(assert (not (<= f (* A B) (+ f d e))))
(check-sat) ; sat
(pop)

; quote: assert!(error + rest < 1 << 54, "the errors of a table add up to {error} and {rest}");
; quote: let reciprocal = to_u128(&((BigUint::from(1u32) << (2 * PLACES)) / sum)) + 1;
; quote: let share = product(sum + error, reciprocal) + 1;
; lemma: a share is at least the quotient F = s / t, and exceeds it by less than 4 (error + rest) + 64 places
; A place is u = 2^-120. All weights sum up to 33 at most, as 32 blocks make them fall by a factor of e or
; more. S is a partial sum as it was rounded, M the last one; s and t are exact; r is 1 / M rounded up, v
; the share.
(push)
(declare-const S Real) (declare-const M Real) (declare-const s Real) (declare-const t Real)
(declare-const error Real) (declare-const rest Real) (declare-const r Real) (declare-const v Real)
(declare-const u Real) (declare-const F Real)
(assert (= u (/ 1.0 1329227995784915872903807060280344576.0)))
(assert (and (<= 0.5 M 33.0) (<= 0.0 S M) (<= 0.0 error) (<= 0.0 rest)))
(assert (<= (+ error rest) (* u 18014398509481984.0)))
(assert (and (<= S s (+ S error)) (<= M t (+ M error rest)) (<= s t)))
(assert (and (<= 1.0 (* r M)) (<= (* (- r u) M) 1.0)))
(assert (and (<= (* (+ S error) r) v) (<= v (+ (* (+ S error) r) u))))
(assert (= (* F t) s))
(assert (not (and (<= F v) (< v (+ F (* 4.0 (+ error rest)) (* 64.0 u))))))
(check-sat) ; unsat
(pop)
; mutated: of a sum that is rounded down
(push)
(declare-const S Real) (declare-const s Real) (declare-const t Real) (declare-const error Real)
(declare-const v Real) (declare-const u Real)
(assert (= u (/ 1.0 1329227995784915872903807060280344576.0)))
(assert (and (= t 1.0) (<= 0.0 S 1.0) (<= S s (+ S error)) (<= s t) (<= 0.0 error (* u 1000.0))))
(assert (= v S))
(assert (not (<= s v)))
(check-sat) ; sat
(pop)

; quote: let threshold = ((share >> (PLACES - WORD_BITS)) as u64).min(largest);
; lemma: of a share that exceeds 2^120 F by less than 2^57, the highest places are within 1 of 2^63 F
(push)
(declare-const share Int) (declare-const F Real)
(assert (and (<= 0.0 F 1.0) (>= share 0)))
(assert (<= (* F 1329227995784915872903807060280344576.0) (to_real share)))
(assert (< (to_real share) (+ (* F 1329227995784915872903807060280344576.0) 144115188075855872.0)))
(define-fun T () Int (div share 144115188075855872))
(assert (not (<= (- (* F 9223372036854775808.0) 1.0) (to_real T) (+ (* F 9223372036854775808.0) 1.0))))
(check-sat) ; unsat
(pop)
; mutated: by less than 2^59
(push)
(declare-const share Int) (declare-const F Real)
(assert (and (<= 0.0 F 1.0) (>= share 0)))
(assert (<= (* F 1329227995784915872903807060280344576.0) (to_real share)))
(assert (< (to_real share) (+ (* F 1329227995784915872903807060280344576.0) 576460752303423488.0)))
(define-fun T () Int (div share 144115188075855872))
(assert (not (<= (- (* F 9223372036854775808.0) 1.0) (to_real T) (+ (* F 9223372036854775808.0) 1.0))))
(check-sat) ; sat
(pop)

; quote: while first > self.thresholds[i] {
; quote: (last + 2 <= self.thresholds[i]).then_some(i)
; lemma: where `find` decides for i, all U in [first, last + 1) / 2^63 have F(i - 1) <= U < F(i)
; before and at are T(i - 1) and T(i), F0 and F1 what they are of.
(push)
(declare-const before Int) (declare-const at Int) (declare-const first Int) (declare-const last Int)
(declare-const F0 Real) (declare-const F1 Real) (declare-const U Real)
(assert (<= (- (to_real before) 1.0) (* F0 9223372036854775808.0) (+ (to_real before) 1.0)))
(assert (<= (- (to_real at) 1.0) (* F1 9223372036854775808.0) (+ (to_real at) 1.0)))
(assert (and (> first before) (<= (+ last 2) at)))
(assert (and (<= (to_real first) (* U 9223372036854775808.0)) (< (* U 9223372036854775808.0) (to_real (+ last 1)))))
(assert (not (and (<= F0 U) (< U F1))))
(check-sat) ; unsat
(pop)
; mutated: last + 1
(push)
(declare-const at Int) (declare-const last Int) (declare-const F1 Real) (declare-const U Real)
(assert (<= (- (to_real at) 1.0) (* F1 9223372036854775808.0) (+ (to_real at) 1.0)))
(assert (<= (+ last 1) at))
(assert (< (* U 9223372036854775808.0) (to_real (+ last 1))))
(assert (not (< U F1)))
(check-sat) ; sat
(pop)

; quote: let (first, last) = (word >> spare << spare, word | ((1 << spare) - 1));
; quote: let mut i = usize::from(self.guide[(word >> (WORD_BITS - GUIDE_BITS)) as usize]);
; lemma: the search begins before `first`, as 10 bits of it are those of the word, for up to 53 spare bits
; And whatever the spare bits are, the word lies between first and last.
(push)
(declare-const word (_ BitVec 64)) (declare-const spare (_ BitVec 64))
(define-fun first () (_ BitVec 64) (bvshl (bvlshr word spare) spare))
(define-fun last () (_ BitVec 64) (bvor word (bvsub (bvshl (_ bv1 64) spare) (_ bv1 64))))
(assert (and (bvule spare (_ bv53 64)) (bvult word (bvshl (_ bv1 64) (_ bv63 64)))))
(assert (not (and (= (bvlshr first (_ bv53 64)) (bvlshr word (_ bv53 64)))
                  (bvule first word) (bvule word last)
                  (= last (bvadd first (bvsub (bvshl (_ bv1 64) spare) (_ bv1 64)))))))
(check-sat) ; unsat
(pop)
; mutated: for up to 54 spare bits
(push)
(declare-const word (_ BitVec 64)) (declare-const spare (_ BitVec 64))
(define-fun first () (_ BitVec 64) (bvshl (bvlshr word spare) spare))
(assert (and (bvule spare (_ bv54 64)) (bvult word (bvshl (_ bv1 64) (_ bv63 64)))))
(assert (not (= (bvlshr first (_ bv53 64)) (bvlshr word (_ bv53 64)))))
(check-sat) ; sat
(pop)
