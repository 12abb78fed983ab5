; The bits of a word in src/noise/sampler.rs, of a bound in src/noise/bernoulli.rs, and of a double in
; src/noise/rational.rs.

; quote: const TABLE_BITS: u32 = 24;
; quote: let (width_bits, others) = (self.blocks.width_bits, 64 - TABLE_BITS - 1);
; quote: let start = (self.find(word >> 1, others, words) as u64) << width_bits;
; quote: let negative = word >> others & 1;
; quote: let offset = (word & ((1 << width_bits) - 1)) + negative;
; quote: let (coin, spare) = (word << (64 - others), 64 - others + width_bits);
; lemma: table, sign, coin and offset take different bits of a word, and all of them
; A word is put together from what each sees of it, up to 26 bits of width.
(push)
(declare-const word (_ BitVec 64)) (declare-const width (_ BitVec 64))
(define-fun table () (_ BitVec 64) (bvlshr (bvlshr word (_ bv1 64)) (_ bv39 64)))
(define-fun sign () (_ BitVec 64) (bvand (bvlshr word (_ bv39 64)) (_ bv1 64)))
(define-fun offset () (_ BitVec 64) (bvand word (bvsub (bvshl (_ bv1 64) width) (_ bv1 64))))
(define-fun spare () (_ BitVec 64) (bvadd (_ bv25 64) width))
(define-fun coin () (_ BitVec 64) (bvlshr (bvshl word (_ bv25 64)) spare))
(assert (bvule width (_ bv26 64)))
(assert (not (and
    (= word (bvadd (bvshl table (_ bv40 64)) (bvshl sign (_ bv39 64)) (bvshl coin width) offset))
    (bvult coin (bvshl (_ bv1 64) (bvsub (_ bv39 64) width)))
    (bvult offset (bvshl (_ bv1 64) width)))))
(check-sat) ; unsat
(pop)
; mutated: the coin begins at the sign
(push)
(declare-const word (_ BitVec 64)) (declare-const width (_ BitVec 64))
(define-fun table () (_ BitVec 64) (bvlshr (bvlshr word (_ bv1 64)) (_ bv39 64)))
(define-fun sign () (_ BitVec 64) (bvand (bvlshr word (_ bv39 64)) (_ bv1 64)))
(define-fun offset () (_ BitVec 64) (bvand word (bvsub (bvshl (_ bv1 64) width) (_ bv1 64))))
(define-fun spare () (_ BitVec 64) (bvadd (_ bv24 64) width))
(define-fun coin () (_ BitVec 64) (bvlshr (bvshl word (_ bv24 64)) spare))
(assert (bvule width (_ bv26 64)))
(assert (not (= word (bvadd (bvshl table (_ bv40 64)) (bvshl sign (_ bv39 64)) (bvshl coin width) offset))))
(check-sat) ; sat
(pop)

; quote: if negative == 1 { -(magnitude as i64) } else { magnitude as i64 }
; lemma: an integer comes from one block, sign and offset alone: two that give the same are the same
(push)
(declare-const width (_ BitVec 64))
(declare-const block (_ BitVec 64)) (declare-const sign (_ BitVec 64)) (declare-const low (_ BitVec 64))
(declare-const block2 (_ BitVec 64)) (declare-const sign2 (_ BitVec 64)) (declare-const low2 (_ BitVec 64))
(define-fun signed ((b (_ BitVec 64)) (s (_ BitVec 64)) (l (_ BitVec 64))) (_ BitVec 64)
    (let ((magnitude (bvadd (bvshl b width) l s)))
        (ite (= s (_ bv1 64)) (bvneg magnitude) magnitude)))
(assert (and (bvule (_ bv1 64) width) (bvule width (_ bv26 64))))
(assert (and (bvult block (_ bv2048 64)) (bvult block2 (_ bv2048 64))))
(assert (and (bvule sign (_ bv1 64)) (bvule sign2 (_ bv1 64))))
(assert (and (bvult low (bvshl (_ bv1 64) width)) (bvult low2 (bvshl (_ bv1 64) width))))
(assert (= (signed block sign low) (signed block2 sign2 low2)))
(assert (not (and (= block block2) (= sign sign2) (= low low2))))
(check-sat) ; unsat
(pop)
; mutated: the negative offsets begin at 0, too
(push)
(declare-const width (_ BitVec 64))
(declare-const block (_ BitVec 64)) (declare-const sign (_ BitVec 64)) (declare-const low (_ BitVec 64))
(declare-const block2 (_ BitVec 64)) (declare-const sign2 (_ BitVec 64)) (declare-const low2 (_ BitVec 64))
(define-fun signed ((b (_ BitVec 64)) (s (_ BitVec 64)) (l (_ BitVec 64))) (_ BitVec 64)
    (let ((magnitude (bvadd (bvshl b width) l)))
        (ite (= s (_ bv1 64)) (bvneg magnitude) magnitude)))
(assert (and (bvule (_ bv1 64) width) (bvule width (_ bv26 64))))
(assert (and (bvult block (_ bv2048 64)) (bvult block2 (_ bv2048 64))))
(assert (and (bvule sign (_ bv1 64)) (bvule sign2 (_ bv1 64))))
(assert (and (bvult low (bvshl (_ bv1 64) width)) (bvult low2 (bvshl (_ bv1 64) width))))
(assert (= (signed block sign low) (signed block2 sign2 low2)))
(assert (not (and (= block block2) (= sign sign2) (= low low2))))
(check-sat) ; sat
(pop)

; quote: let mask = u128::MAX.checked_shr((bound - 1).leading_zeros()).unwrap_or(0);
; lemma: the mask lets every number below the bound through, and fewer than twice as many
; t is the number of bits of bound - 1.
(push)
(declare-const bound (_ BitVec 128)) (declare-const t (_ BitVec 128))
(define-fun rest () (_ BitVec 128) (bvsub bound (_ bv1 128)))
(define-fun mask () (_ BitVec 128)
    (ite (= t (_ bv0 128)) (_ bv0 128) (bvlshr (bvnot (_ bv0 128)) (bvsub (_ bv128 128) t))))
(assert (bvugt bound (_ bv0 128)))
(assert (bvule t (_ bv128 128)))
(assert (= (bvlshr rest t) (_ bv0 128)))
(assert (=> (bvugt t (_ bv0 128)) (= (bvlshr rest (bvsub t (_ bv1 128))) (_ bv1 128))))
(declare-const value (_ BitVec 128))
(assert (not (and (=> (bvult value bound) (= (bvand value mask) value))
                  (or (= mask (_ bv0 128)) (bvult (bvlshr mask (_ bv1 128)) rest)))))
(check-sat) ; unsat
(pop)
; mutated: of the bits of the bound itself
(push)
(declare-const bound (_ BitVec 128)) (declare-const t (_ BitVec 128))
(define-fun rest () (_ BitVec 128) (bvsub bound (_ bv1 128)))
(define-fun mask () (_ BitVec 128)
    (ite (= t (_ bv0 128)) (_ bv0 128) (bvlshr (bvnot (_ bv0 128)) (bvsub (_ bv128 128) t))))
(assert (bvugt bound (_ bv0 128)))
(assert (bvule t (_ bv128 128)))
(assert (= (bvlshr bound t) (_ bv0 128)))
(assert (=> (bvugt t (_ bv0 128)) (= (bvlshr bound (bvsub t (_ bv1 128))) (_ bv1 128))))
(assert (not (or (= mask (_ bv0 128)) (bvult (bvlshr mask (_ bv1 128)) rest))))
(check-sat) ; sat
(pop)

; quote: let odd = u128::from(mantissa >> zeros);
; quote: let exponent = biased - 1023 - MANTISSA_BITS as i32 + zeros as i32;
; lemma: no bit of a double's mantissa is lost in its odd part
(push)
(declare-const mantissa (_ BitVec 64)) (declare-const zeros (_ BitVec 64))
(assert (and (bvult zeros (_ bv64 64))
             (= (bvand mantissa (bvsub (bvshl (_ bv1 64) zeros) (_ bv1 64))) (_ bv0 64))))
(assert (not (= (bvshl (bvlshr mantissa zeros) zeros) mantissa)))
(check-sat) ; unsat
(pop)
; mutated: also if there are fewer zeros
(push)
(declare-const mantissa (_ BitVec 64)) (declare-const zeros (_ BitVec 64))
(assert (bvult zeros (_ bv64 64)))
(assert (not (= (bvshl (bvlshr mantissa zeros) zeros) mantissa)))
(check-sat) ; sat
(pop)
