import {useEffect, useState} from 'react'
import {useServices} from '../services.ts'
import type {Shop} from '../shop/order.ts'

export type ShopReading = {shop: Shop | null; readAt: number | null; problem: string | null}

/** The tables as the server has them, read again and again while somebody looks. */
export function useShop(everyMs: number): ShopReading {
  const services = useServices()
  const [reading, setReading] = useState<ShopReading>({shop: null, readAt: null, problem: null})
  useEffect(() => {
    const read = async () => {
      if (document.hidden) return
      try {
        setReading({shop: await services.shop(), readAt: Date.now(), problem: null})
      } catch (error) {
        setReading(now => ({...now, problem: error instanceof Error ? error.message : String(error)}))
      }
    }
    void read()
    const timer = setInterval(read, everyMs)
    document.addEventListener('visibilitychange', read)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', read)
    }
  }, [services, everyMs])
  return reading
}
